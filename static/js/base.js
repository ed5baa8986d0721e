/** What every page does: theme, menus, dialogs, keys, and one sentence when a request fails. */

import "./once.js";
import { setUpTheme } from "./theme.js";
import { setUpTables, typing } from "./table.js";

/** Show a sentence for a while; errors stay until closed. @param {string} text @param {"ok"|"error"} kind */
export function toast(text, kind = "ok") {
  const box = document.createElement("p");
  box.className = `note note-${kind === "error" ? "error" : "success"} toast`;
  const words = document.createElement("span");
  words.textContent = text;
  const close = document.createElement("button");
  close.type = "button";
  close.className = "button button-quiet button-small";
  close.textContent = "Close";
  close.addEventListener("click", () => box.remove());
  box.append(words, close);
  document.getElementById("toasts")?.append(box);
  if (kind !== "error") setTimeout(() => box.remove(), 5000);
}

function setUpMenus() {
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("details[data-menu][open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
    const opener = event.target.closest("[data-dialog]");
    if (opener) document.getElementById(opener.dataset.dialog)?.showModal();
    const closer = event.target.closest("[data-close]");
    if (closer) closer.closest("dialog")?.close();
    if (event.target.closest("[data-help]")) document.getElementById("help")?.showModal();
    if (event.target.closest("[data-dismiss]")) event.target.closest(".toast").remove();
    const copier = event.target.closest("[data-copy]");
    if (copier) {
      const text = document.getElementById(copier.dataset.copy).value;
      navigator.clipboard.writeText(text).then(
        () => toast("Copied."),
        () => toast("The browser did not allow copying; select the text and copy it by hand.", "error"),
      );
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const menu = document.querySelector("details[data-menu][open]");
      if (menu) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
    }
    if (event.key === "?" && !typing(event.target) && !event.ctrlKey && !event.metaKey) {
      document.getElementById("help")?.showModal();
    }
  });
}

/** A button that destroys something stays disabled until the named thing has been typed. */
function setUpConfirmations() {
  document.addEventListener("input", (event) => {
    const field = event.target.closest("[data-confirm]");
    if (!field) return;
    const button = field.form.querySelector("[data-confirmed]");
    button.disabled = field.value.trim() !== field.dataset.confirm;
  });
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-submit]")) event.target.form.requestSubmit();
  });
}

function setUpFailures() {
  document.addEventListener("htmx:responseError", (event) => {
    let sentence = `The studio answered with error ${event.detail.xhr.status}.`;
    try {
      sentence = JSON.parse(event.detail.xhr.responseText).error ?? sentence;
    } catch {
      if (event.detail.xhr.status === 403) sentence = "Your role does not allow this.";
    }
    toast(sentence, "error");
  });
  document.addEventListener("htmx:sendError", () => {
    toast("The studio cannot be reached. Check the connection; nothing was lost.", "error");
  });
}

/** Messages that htmx brought fade like our own; dialogs with an error to show open at once. */
function setUpArrivals() {
  document.addEventListener("htmx:load", () => {
    for (const note of document.querySelectorAll("[data-toast]")) {
      if (note.dataset.toast !== "error") setTimeout(() => note.remove(), 5000);
      delete note.dataset.toast;
    }
  });
  document.querySelector("dialog[data-open-now]")?.showModal();
}

setUpTheme((error) => toast(error.message, "error"));
setUpMenus();
setUpConfirmations();
setUpFailures();
setUpArrivals();
setUpTables();
