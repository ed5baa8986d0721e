// The key map on the screen (?), where every key can be changed.

import { h } from "./dom.js";
import { namesOf } from "./keys.js";

const SHOWN = {
  Space: "Space",
  ArrowLeft: "←",
  ArrowRight: "→",
  Backspace: "⌫",
  Delete: "Del",
  Escape: "Esc",
  Enter: "Enter",
};
const show = (key) =>
  key === "+"
    ? key
    : key
        .split("+")
        .map((part) => SHOWN[part] ?? part)
        .join(" ");

const HINT =
  "Click a key to change it. Digits 0 to 9 stand for the people with these numbers; Shift with a type's letter always makes a new event. Alt while dragging turns snapping off, Ctrl with the wheel zooms.";

export class Help {
  #waiting = null; // the action that waits for its new key

  /** `hint`: a sentence under the keys. */
  constructor(keys, hint = HINT) {
    this.keys = keys;
    this.hint = hint;
    this.dialog = document.querySelector("#help");
    this.list = this.dialog.querySelector(".keymap");
    addEventListener("keydown", (event) => this.#pressed(event), true);
    this.dialog.addEventListener("close", () => {
      this.#waiting = null;
    });
    keys.on("change", () => this.draw());
    this.draw();
  }

  open() {
    this.draw();
    if (!this.dialog.open) this.dialog.showModal();
  }

  draw() {
    const groups = [...new Set(this.keys.keymap.map((action) => action.group))];
    this.list.replaceChildren(
      ...groups.map((group) =>
        h(
          "section",
          {},
          h("h3", { text: group }),
          h(
            "dl",
            {},
            this.keys.keymap
              .filter((action) => action.group === group && !action.minor)
              .map((action) => this.#row(action)),
          ),
        ),
      ),
      h("p", { class: "dim", role: "status" }, this.message ?? this.hint),
      this.keys.isOwn
        ? h("button", {
            type: "button",
            class: "button button-small",
            text: "All keys as they were",
            onclick: () => this.keys.reset(),
          })
        : "",
    );
  }

  #row(action) {
    const waiting = this.#waiting === action.id;
    const keys = waiting ? ["press a key"] : this.keys.keysOf(action).slice(0, 2);
    return h(
      "div",
      {},
      h(
        "dt",
        {},
        h(
          "button",
          {
            type: "button",
            class: waiting ? "key waiting" : "key",
            disabled: action.fixed,
            "aria-label": `Change the key of: ${action.label}`,
            onclick: () => {
              this.#waiting = action.id;
              this.message = null;
              this.draw();
              this.list.querySelector(".waiting").focus();
            },
          },
          keys.map((key) => h("kbd", { text: show(key) })),
        ),
      ),
      h("dd", { text: action.label }),
    );
  }

  #pressed(event) {
    if (!this.#waiting) return;
    const [key] = namesOf(event);
    if (!key) return;
    event.preventDefault();
    event.stopPropagation();
    if (key !== "Escape") this.message = this.keys.remap(this.#waiting, key) || null;
    this.#waiting = null;
    this.draw();
  }
}
