/** The save indicator of the audit page, and what stands behind it: what waits, what was refused, the login in place. */

import { LoginAgain } from "../bench/login.js";
import { h, icon, once } from "../workspace/dom.js";

export class Saving {
  constructor({ queue, api, user, say }) {
    Object.assign(this, { queue, say });
    this.button = document.querySelector("#save-state");
    this.dialog = document.querySelector("#unsaved");
    this.login = new LoginAgain({ api, user, onlogin: () => queue.kick() });
    this.button.addEventListener("click", () => this.#open());
    queue.on("state", () => this.draw());
    queue.on("login", () => this.login.open(queue.trouble));
    queue.on("refused", (record) => say(`Not kept: ${record.label}. ${record.error}`, "error"));
    queue.on("conflict", (record) => say(`${record.label}: you said something else of it in another window.`, "error"));
    queue.on("unkept", () =>
      say("The browser could not keep this on disk: do not close the tab before it is saved.", "error"),
    );
    this.draw();
  }

  draw() {
    const { queue } = this;
    const count = queue.unsaved;
    const waits = queue.trouble !== "" || queue.parked.length > 0;
    const state = count === 0 ? "saved" : waits ? "unsaved" : "saving";
    Object.assign(this.button.dataset, { unsaved: count, state });
    const words = { saved: "Saved", saving: "Saving", unsaved: `${count} unsaved` }[state];
    const sign = { saved: "saved", saving: "saving", unsaved: queue.trouble ? "offline" : "warning" }[state];
    if (this.shown !== words + sign) {
      this.shown = words + sign;
      this.button.replaceChildren(icon(sign, true), h("span", { text: words }));
    }
    this.button.title = queue.trouble || (count ? "What is not saved yet" : "Everything you said is saved");
    if (this.dialog.open) this.#fill();
  }

  #open() {
    this.#fill();
    this.dialog.showModal();
  }

  #fill() {
    const { queue } = this;
    const body = this.dialog.querySelector(".unsaved-body");
    const words = queue.unsaved
      ? `${queue.unsaved} of what you said ${queue.unsaved > 1 ? "are" : "is"} not saved yet. It is kept on this computer, also when the tab is closed.`
      : "Everything you said is saved.";
    body.replaceChildren(
      h("p", { text: words }),
      queue.trouble ? h("p", { class: "hint-warn", text: queue.trouble }) : "",
      h(
        "ul",
        { class: "unsaved-list" },
        queue.records.map((record) => this.#item(record)),
      ),
      queue.unsaved
        ? h("button", { type: "button", class: "button button-small", text: "Try now", onclick: () => queue.kick() })
        : "",
    );
  }

  #item(record) {
    const { queue } = this;
    const parked = record.status !== "queued";
    const words =
      { queued: "waits", conflict: "differs from what you said in another window" }[record.status] ??
      `not kept: ${record.error}`;
    const button = (text, work, kind = "") =>
      h("button", { type: "button", class: `button button-small ${kind}`, text, onclick: once(work) });
    return h(
      "li",
      { data: { status: record.status, about: record.id } },
      h("div", {}, h("b", { text: record.label }), h("span", { class: "dim", text: ` ${words}` })),
      h(
        "div",
        { class: "inspector-buttons" },
        parked && button(record.status === "conflict" ? "This one counts" : "Try again", () => queue.retry(record)),
        button("Let it go", () => queue.discard(record), "button-danger"),
      ),
    );
  }
}
