// Talking to /api/v1: JSON in and out, the CSRF token of the present session, and time limits.

const LIMIT_MS = 20_000;

/** An answer that is not 2xx, with the server's sentence. */
export class ApiError extends Error {
  constructor(status, data) {
    super(data?.error ?? `The server answered ${status}.`);
    this.status = status;
    this.data = data;
  }
}

function cookie(name) {
  const found = document.cookie.split("; ").find((pair) => pair.startsWith(`${name}=`));
  return found ? decodeURIComponent(found.slice(name.length + 1)) : null;
}

export class Api {
  #token = null;

  /** `root`: where the API lies, e.g. /api/v1 */
  constructor(root) {
    this.root = root;
  }

  get token() {
    return cookie("csrftoken") ?? this.#token;
  }

  /** Who is logged in; also brings a fresh CSRF token. */
  async session() {
    const { data } = await this.ask("GET", "/session");
    this.#token = data.csrf;
    return data.user;
  }

  async login(username, password) {
    await this.session();
    const { status, data } = await this.ask("POST", "/session/login", { username, password });
    if (status !== 200) throw new ApiError(status, data);
    this.#token = data.csrf;
    return data.user;
  }

  /** {status, data}; throws only when no answer came. */
  async ask(method, path, body) {
    const options = { method, headers: { Accept: "application/json" }, signal: AbortSignal.timeout(LIMIT_MS) };
    if (method !== "GET") {
      if (!this.token) await this.session();
      options.headers["X-CSRFToken"] = this.token ?? "";
    }
    if (body !== undefined) {
      options.headers["Content-Type"] = "application/json";
      options.body = JSON.stringify(body);
    }
    const response = await fetch(path.startsWith("/api") ? path : this.root + path, options);
    const text = await response.text();
    let data = null;
    try {
      data = text ? JSON.parse(text) : null;
    } catch {
      if (response.ok) throw new Error("The answer was cut off.");
    }
    return { status: response.status, data };
  }

  /** The data of a 2xx answer; ApiError otherwise. */
  async get(path) {
    return this.#fine(await this.ask("GET", path));
  }

  async post(path, body = {}) {
    return this.#fine(await this.ask("POST", path, body));
  }

  #fine({ status, data }) {
    if (status >= 200 && status < 300) return data;
    throw new ApiError(status, data);
  }
}

/** The bytes of an address. */
export async function bytesOf(url, options = {}) {
  const response = await fetch(url, options);
  if (!response.ok) throw new ApiError(response.status, null);
  return response.arrayBuffer();
}
