/** Requests to our own addresses. Every answer that is not a success becomes one Error whose message is a sentence. */

export class RequestError extends Error {
  /** @param {string} message @param {number} status @param {object} body the parsed answer, {} where there is none */
  constructor(message, status, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

/** The CSRF token that came with the page; `setToken` replaces it after a login in place. */
let token = null;

export function csrf() {
  if (token === null) {
    const headers = document.body.getAttribute("hx-headers");
    token = headers ? JSON.parse(headers)["X-CSRFToken"] : "";
  }
  return token;
}

export function setToken(fresh) {
  token = fresh;
  document.body.setAttribute("hx-headers", JSON.stringify({ "X-CSRFToken": fresh }));
}

const SENTENCES = {
  0: "The studio cannot be reached. Check the connection; nothing was lost.",
  401: "You are no longer logged in. Log in again and repeat this.",
  413: "The server in front of the studio refuses requests of this size.",
  502: "The studio is not answering right now. Try again in a moment.",
  503: "The studio is not answering right now. Try again in a moment.",
  504: "The studio took too long to answer. Try again in a moment.",
};

/**
 * @param {string} method @param {string} url
 * @param {object|Blob|null} body an object is sent as JSON, a Blob as it is
 * @param {RequestInit} options
 * @returns {Promise<any>} the parsed JSON, or null for an empty answer
 */
export async function send(method, url, body = null, options = {}) {
  const headers = { Accept: "application/json", "X-CSRFToken": csrf() };
  let payload = null;
  if (body instanceof Blob) {
    headers["Content-Type"] = "application/octet-stream";
    payload = body;
  } else if (body !== null) {
    headers["Content-Type"] = "application/json";
    payload = JSON.stringify(body);
  }
  let answer;
  try {
    answer = await fetch(url, { method, headers, body: payload, credentials: "same-origin", ...options });
  } catch (cause) {
    if (cause.name === "AbortError") throw cause;
    throw new RequestError(SENTENCES[0], 0, {});
  }
  const text = await answer.text();
  let parsed = null;
  try {
    parsed = text ? JSON.parse(text) : null;
  } catch {
    parsed = null; // an error page of a proxy
  }
  if (!answer.ok) {
    const sentence = parsed?.error ?? SENTENCES[answer.status] ?? `The studio answered with error ${answer.status}.`;
    throw new RequestError(sentence, answer.status, parsed ?? {});
  }
  return parsed;
}
