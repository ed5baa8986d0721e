/**
 * Forms with much to type (`data-keep`, which says whose page it is) are sent only to a studio that answers and still
 * knows the person: otherwise the page, and what was typed, would be gone. The token is brought up to date, too.
 */

import { toast } from "./base.js";

const LIMIT_MS = 8000;

let sure = new WeakSet(); // forms that may be sent now
let checking = false;

/** What stands in the way of sending; "" for nothing. */
async function trouble(form) {
  let answer;
  try {
    const signal = AbortSignal.timeout(LIMIT_MS);
    answer = await (await fetch("/api/v1/session", { headers: { Accept: "application/json" }, signal })).json();
  } catch {
    return "The studio cannot be reached. Nothing is lost: save again in a moment.";
  }
  if (!answer.user) return "You were logged out. Nothing is lost: log in in another tab, then save here again.";
  if (String(answer.user.id) !== form.dataset.keep)
    return `By now ${answer.user.name} is logged in. Log in as yourself in another tab, then save here again.`;
  const token = form.querySelector("[name=csrfmiddlewaretoken]");
  if (token && answer.csrf) token.value = answer.csrf;
  return "";
}

async function onSubmit(event) {
  const form = event.target;
  if (!form.matches("form[data-keep]") || sure.has(form)) return;
  event.preventDefault();
  if (checking) return;
  checking = true;
  try {
    const sentence = await trouble(form);
    if (sentence) return void toast(sentence, "error");
    sure.add(form);
    form.requestSubmit(event.submitter);
  } finally {
    checking = false;
  }
}

document.addEventListener("submit", onSubmit, { capture: true }); // before a form counts as sent
window.addEventListener("pageshow", () => (sure = new WeakSet()));
