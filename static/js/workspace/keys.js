// From keystrokes to actions. Never while somebody types in a field; a button keeps Enter and Space for itself.

import { Topics, isTyping } from "./dom.js";
import { KEYMAP } from "./keymap.js";

const PRINTED = {
  Comma: ",",
  Period: ".",
  Slash: "/",
  BracketLeft: "[",
  BracketRight: "]",
  Minus: "-",
  Equal: "=",
  Semicolon: ";",
  Quote: "'",
  Backslash: "\\",
};
const MODIFIERS = new Set(["Shift", "Control", "Alt", "Meta", "AltGraph", "CapsLock"]);
const REPEATING = new Set(["Player", "Span", "Page"]);
const CONTROLS = "button, a, summary, select, input, [role=separator], [role=option]";

/** The names a keystroke goes by, best first. */
export function namesOf(event) {
  if (MODIFIERS.has(event.key)) return [];
  const front = `${event.ctrlKey || event.metaKey ? "Ctrl+" : ""}${event.altKey ? "Alt+" : ""}`;
  const shift = event.shiftKey ? "Shift+" : "";
  const digit = /^(?:Digit|Numpad)(\d)$/.exec(event.code);
  if (digit) return [`${front}${shift}${digit[1]}`];
  if (event.key === " ") return [`${front}${shift}Space`];
  if (event.key.length > 1) return [`${front}${shift}${event.key}`];
  if (/\p{L}/u.test(event.key)) return [`${front}${shift}${event.key.toUpperCase()}`];
  const byPlace = PRINTED[event.code];
  return [...(byPlace && shift ? [`${front}${shift}${byPlace}`] : []), `${front}${event.key}`];
}

export class Keys extends Topics {
  #own;

  /** `own`: {action: key} the person chose, on any page; `save` keeps it; `keymap`: the actions of this page. */
  constructor(workspace, own, save, keymap = KEYMAP) {
    super();
    this.workspace = workspace;
    this.save = save;
    this.keymap = keymap;
    this.#own = { ...own };
    this.#index();
    addEventListener("keydown", (event) => this.#pressed(event));
    // A button or select used with the mouse must not keep the keyboard
    addEventListener("click", (event) => {
      const control = event.detail > 0 ? event.target.closest?.("button, summary") : null;
      if (control && !control.closest("dialog")) control.blur();
    });
    addEventListener("change", (event) => {
      if (event.target.tagName === "SELECT" && !event.target.closest("dialog")) event.target.blur();
    });
  }

  #index() {
    this.byKey = new Map();
    for (const action of this.keymap)
      for (const key of this.keysOf(action)) if (!this.byKey.has(key)) this.byKey.set(key, action);
  }

  keysOf(action) {
    return this.#own[action.id] ? [this.#own[action.id]] : action.keys;
  }

  /** Give an action another key. Returns "" or why not. */
  remap(id, key) {
    const holder = this.byKey.get(key);
    const action = this.keymap.find((one) => one.id === id);
    if (action.fixed) return `${action.label} keeps its key.`;
    if (holder && holder.id !== id) return `${key} is taken by “${holder.label}”. Give that another key first.`;
    this.#own[id] = key;
    if (action.keys.length === 1 && action.keys[0] === key) delete this.#own[id];
    this.#index();
    this.save(this.#own);
    this.emit("change");
    return "";
  }

  reset() {
    for (const { id } of this.keymap) delete this.#own[id];
    this.#index();
    this.save(this.#own);
    this.emit("change");
  }

  get isOwn() {
    return this.keymap.some(({ id }) => id in this.#own);
  }

  #pressed(event) {
    if (event.defaultPrevented || event.isComposing || document.querySelector("dialog[open]")) return;
    if (isTyping(event.target)) {
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (this.#belongsToControl(event)) return;
    const action = namesOf(event)
      .map((name) => this.byKey.get(name))
      .find(Boolean);
    if (!action) return;
    event.preventDefault();
    if (event.repeat && !REPEATING.has(action.group)) return; // a key held down is one word, not many
    action.run(this.workspace);
  }

  #belongsToControl(event) {
    const control = event.target.closest?.(CONTROLS);
    if (!control || event.ctrlKey || event.metaKey) return false;
    if (event.key === "Enter" || event.key === " ") return true;
    if (control.matches("select, input, [role=separator]"))
      return event.key.startsWith("Arrow") || ["Home", "End", "PageUp", "PageDown"].includes(event.key);
    return false;
  }
}
