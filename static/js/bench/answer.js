/** The answer page: one question after another, blind. An answer is kept on this computer until the studio has it. */

import { typing } from "../table.js";
import { Api } from "../workspace/api.js";
import { h, icon, useSprite, uuid } from "../workspace/dom.js";
import { ClipPlayer, clipKey, clipUrl } from "./clip.js";
import { LoginAgain } from "./login.js";
import { Outbox } from "./outbox.js";

const page = JSON.parse(document.getElementById("answer-data").textContent);
const $ = (selector) => document.querySelector(selector);
const SPECIAL_KEYS = { c: "cannot_tell", t: "two_right", b: "bad_clip" };
const CLIP_MS = [300, 600, 1000, 1500]; // between looks whether the clip is cut
const AGAIN_MS = 4000; // before asking again for a question when the studio was away
const HINTS = {
  multiple: "Choose every option that is right.",
  number: "Answer with a number.",
  open: "Answer in your own words.",
};

useSprite(page.sprite);
const api = new Api(page.api);
const outbox = new Outbox({ api, user: page.user.id });
const login = new LoginAgain({ api, user: page.user, onlogin: () => (outbox.kick(), task ? watchClip(Date.now()) : ask()) });
const clip = new ClipPlayer($("[data-clip]"));
let task = null; // what is being answered: {question, chosen, special, shown}
let asking = 0; // timer of the next try

// ---- Asking ----

/** The next question; what waits here is sent first, so that it is not handed out again. */
async function ask() {
  clearTimeout(asking);
  if (task) return;
  if (outbox.waiting.length) return void outbox.kick(); // `sent` asks again
  let answer;
  try {
    answer = await api.ask("POST", page.next, {});
  } catch {
    return wait("The studio cannot be reached. The next question comes as soon as it answers.");
  }
  const { status, data } = answer;
  if (status === 401) return loggedOut();
  if (status !== 200) return wait(data?.error ?? `The studio answered ${status}.`, status >= 500);
  if (!data.question) return nothing(data);
  begin(data);
}

function wait(sentence, again = true) {
  clip.clear();
  show("waiting", { title: "One moment", sentence });
  if (again) asking = setTimeout(ask, AGAIN_MS);
}

function loggedOut() {
  login.open("You were logged out. Log in to go on.");
}

function nothing({ why }) {
  clip.clear();
  show("nothing", { title: "Nothing left for you", sentence: why });
}

function show(state, { title = "", sentence = "" } = {}) {
  $("#ask").dataset.state = state;
  $("#ask-form").hidden = state !== "question";
  $(".ask-main").hidden = !["question", "clip"].includes(state);
  $("#ask-empty").hidden = !title;
  $("#ask-empty h2").textContent = title;
  $("#ask-empty p").textContent = sentence;
}

// ---- One question ----

function begin(found) {
  task = { ...found, chosen: [], special: "", shown: null, typed: "" };
  $("#ask-error").textContent = "";
  show("clip");
  watchClip(Date.now());
}

/** Play the clip, or wait until it is cut; the question is shown with the first picture, and its time begins there. */
function watchClip(since, looks = 0) {
  const { clip: piece } = task.question;
  if (piece?.ready) return clip.load(clipUrl(piece), { shown: reveal, failed: () => clipFailed(task) });
  if (piece?.error) {
    clip.say(`The clip could not be cut: ${piece.error}`, "failed");
    return reveal();
  }
  clip.say("The clip is being cut; the question comes with it.", "cutting", since);
  const waited = task;
  setTimeout(async () => {
    try {
      const { status, data } = await api.ask("POST", page.next, {});
      if (task !== waited) return;
      if (status === 401) return loggedOut();
      if (status === 200 && data.question?.id === task.question.id) task.question.clip = data.question.clip;
      else if (status === 200) return again(data);
    } catch {
      // the studio is away for now; the next look comes by itself
    }
    if (task === waited) watchClip(since, looks + 1);
  }, CLIP_MS[Math.min(looks, CLIP_MS.length - 1)]);
}

/** The file did not come: a lost connection or login is waited for, what cannot be played is for the rater to say. */
async function clipFailed(waited) {
  const { clip: piece } = waited.question;
  const asked = { headers: { Range: "bytes=0-0" }, cache: "no-store", redirect: "manual" };
  const answer = await fetch(clipUrl(piece), asked).catch(() => null);
  if (task !== waited) return;
  if (answer?.type === "opaqueredirect") {
    clip.say("The clip comes once you are logged in again.", "loading");
    return loggedOut(); // the way to the login page
  }
  if (answer?.ok || answer?.status === 404) {
    clip.say(answer.ok ? "The clip cannot be played in this browser." : "The clip is not there.", "failed");
    return reveal();
  }
  clip.say("The clip does not come. It is asked for again by itself.", "loading", Date.now());
  setTimeout(() => task === waited && watchClip(Date.now()), AGAIN_MS);
}

/** The place ran out while the clip was being cut: take what there is now. */
function again(data) {
  task = null;
  if (data.question) begin(data);
  else nothing(data);
}

function reveal() {
  if (!task || task.shown !== null) return;
  const { question } = task;
  $("#ask-number").textContent = `Question ${question.number}`;
  $("#ask-left").textContent = task.waiting === undefined ? "" : left(task.waiting);
  $("#ask-text").textContent = question.text;
  $("#ask-hint").textContent = HINTS[question.kind] ?? "";
  $("#ask-hint").hidden = !HINTS[question.kind];
  $("#ask-options").replaceChildren(...fields(question));
  draw();
  show("question");
  $("#ask-form").scrollTop = 0; // a browser remembers where the question before was scrolled to
  task.shown = performance.now();
  if (["number", "open"].includes(question.kind)) $("#ask-options :is(input, textarea)").focus();
  else $("#ask-text").focus({ preventScroll: true });
}

const left = (waiting) => (waiting > 1 ? `${waiting} wait for you` : "the last one for now");

function fields(question) {
  const typed = (event) => {
    task.typed = event.target.value;
    if (task.typed) task.special = "";
    draw();
  };
  if (question.kind === "number")
    return [
      h("input", {
        class: "ask-number",
        inputmode: "decimal",
        autocomplete: "off",
        "aria-label": "Your number",
        oninput: typed,
      }),
    ];
  if (question.kind === "open")
    return [
      h("textarea", {
        class: "ask-open",
        rows: 4,
        maxlength: 2000,
        dir: "auto",
        "aria-label": "Your answer",
        oninput: typed,
      }),
    ];
  return question.options.map(({ id, text }, k) =>
    h(
      "button",
      { type: "button", class: "ask-option", data: { option: id }, "aria-pressed": "false", onclick: () => choose(k) },
      h("kbd", { text: k < 9 ? String(k + 1) : "" }),
      h("span", { text }),
      icon("check"),
    ),
  );
}

function choose(k) {
  const { question } = task;
  const id = question.options?.[k]?.id;
  if (id === undefined || task.shown === null) return;
  task.special = "";
  if (question.kind !== "multiple") task.chosen = [id];
  else if (task.chosen.includes(id)) task.chosen = task.chosen.filter((one) => one !== id);
  else task.chosen = [...task.chosen, id];
  draw();
}

function setSpecial(name) {
  if (!task || task.shown === null) return;
  task.special = task.special === name ? "" : name;
  if (task.special) task.chosen = [];
  draw();
}

function draw() {
  for (const button of document.querySelectorAll("[data-option]"))
    button.setAttribute("aria-pressed", String(task.chosen.includes(button.dataset.option)));
  for (const button of document.querySelectorAll("[data-special]"))
    button.setAttribute("aria-pressed", String(task.special === button.dataset.special));
  $("#ask-submit").setAttribute("aria-disabled", String(!complete()));
  $("#ask-error").textContent = "";
}

function complete() {
  if (task.special) return true;
  if (["number", "open"].includes(task.question.kind)) return task.typed.trim() !== "";
  return task.chosen.length > 0;
}

/** What is sent as `chosen`; null with a sentence on the page where the field holds no answer. */
function chosen() {
  const { question, typed } = task;
  if (task.special) return [];
  if (question.kind === "open") return [typed.trim()];
  if (question.kind !== "number") return task.chosen;
  const number = Number(typed.trim().replace(",", "."));
  if (!Number.isFinite(number)) return null;
  return [number];
}

function submit() {
  if (!task || task.shown === null) return;
  if (!complete()) return void ($("#ask-error").textContent = "Choose an answer first, or say why there is none.");
  const found = chosen();
  if (found === null) return void ($("#ask-error").textContent = "Write a number, such as 3 or 2.5.");
  const { question, special, shown } = task;
  const seconds = Math.round(performance.now() - shown) / 1000;
  const id = uuid();
  task = null; // from here on the same click or key finds nothing to send
  show("sending");
  outbox.put({
    id,
    question: question.id,
    number: question.number,
    path: page.answer.replace(page.nobody, question.id),
    body: { id, chosen: found, special, seconds },
  });
}

// ---- The way of an answer ----

outbox.on("sent", () => outbox.waiting.length || ask());
outbox.on("refused", ({ record, sentence }) => {
  note(`Question ${record.number}: your answer was not taken. ${sentence}`);
  if (!outbox.waiting.length) ask();
});
outbox.on("login", () => login.open(outbox.trouble));
outbox.on("state", drawOutbox);

function drawOutbox() {
  const count = outbox.waiting.length;
  const state = count === 0 ? "saved" : outbox.trouble ? "unsaved" : "saving";
  const words = { saved: "Saved", saving: "Saving", unsaved: `${count} unsent` }[state];
  const sign = { saved: "saved", saving: "saving", unsaved: "offline" }[state];
  const mark = $("#outbox");
  if (mark.dataset.shown !== words) mark.replaceChildren(icon(sign, true), h("span", { text: words }));
  Object.assign(mark.dataset, { unsaved: count, state, shown: words });
  mark.title = outbox.trouble;
  if (!task && outbox.trouble) show("waiting", { title: "Your answer is kept", sentence: outbox.trouble });
}

function note(sentence) {
  const box = h(
    "p",
    { class: "note note-error toast" },
    h("span", { text: sentence }),
    h("button", { type: "button", class: "button button-quiet button-small", "data-dismiss": "", text: "Close" }),
  );
  $("#toasts").append(box);
}

// ---- Keys and clicks ----

$("#ask-form").addEventListener("submit", (event) => {
  event.preventDefault();
  submit();
});
for (const button of document.querySelectorAll("[data-special]"))
  button.addEventListener("click", () => setSpecial(button.dataset.special));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
  if (document.querySelector("dialog[open]")) return;
  const elsewhere = event.target.tagName === "TEXTAREA" || event.target.closest?.("a, summary, .topbar, .rail");
  if (event.key === "Enter" && !elsewhere) {
    event.preventDefault(); // Enter submits, wherever the last click was
    return void submit();
  }
  if (typing(event.target) || (event.key === " " && event.target.closest?.("button, a, summary"))) return;
  if (clipKey(clip, event.key)) return void event.preventDefault();
  if (!task || task.shown === null) return;
  const digit = /^(?:Digit|Numpad)([1-9])$/.exec(event.code);
  const letter = event.shiftKey ? /^Key([A-I])$/.exec(event.code) : null;
  if (digit && !event.shiftKey) choose(Number(digit[1]) - 1);
  else if (letter) choose(letter[1].charCodeAt(0) - 65);
  else if (SPECIAL_KEYS[event.key.toLowerCase()] && !event.shiftKey) setSpecial(SPECIAL_KEYS[event.key.toLowerCase()]);
  else return;
  event.preventDefault();
});

drawOutbox();
ask();
