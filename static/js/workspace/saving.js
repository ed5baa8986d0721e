// The save indicator and what stands behind it: what is not saved and why, the merge view, the login in place.

import { h, icon } from "./dom.js";
import { MergeView } from "./merge.js";

export class Saving {
  constructor({ queue, store, api, actions, username }) {
    Object.assign(this, { queue, store, api, actions, username });
    this.button = document.querySelector("#save-state");
    this.dialog = document.querySelector("#unsaved");
    this.loginDialog = document.querySelector("#login-again");
    this.merge = new MergeView({ queue, store, actions });
    this.button.addEventListener("click", () => this.#openList());
    queue.on("state", () => this.draw());
    queue.on("conflict", () => this.merge.next());
    queue.on("refused", (record) => actions.say(`Not saved: ${record.label}. ${record.error}`, "error"));
    queue.on("login", () => this.#login());
    this.loginDialog.querySelector("form").addEventListener("submit", (event) => this.#sendLogin(event));
    this.draw();
  }

  draw() {
    const { queue } = this;
    const count = queue.unsaved;
    const waits = queue.trouble !== "" || queue.conflicts.length > 0 || queue.refused.length > 0;
    const state = count === 0 ? "saved" : waits ? "unsaved" : "saving";
    this.button.dataset.unsaved = count;
    this.button.dataset.state = state;
    const words = { saved: "Saved", saving: "Saving", unsaved: `${count} unsaved` }[state];
    const sign = { saved: "saved", saving: "saving", unsaved: queue.trouble ? "offline" : "warning" }[state];
    if (this.shown !== words + sign) {
      this.shown = words + sign;
      this.button.replaceChildren(icon(sign, true), h("span", { text: words }));
    }
    this.button.title = queue.trouble || (count ? "What is not saved yet" : "Every edit is saved");
    if (this.dialog.open) this.#fillList();
  }

  // ---- What is not saved ----

  async #openList() {
    this.elsewhere = await this.queue.database.elsewhere(this.queue.user, this.queue.video);
    this.#fillList();
    this.dialog.showModal();
  }

  #fillList() {
    const { queue } = this;
    const body = this.dialog.querySelector(".unsaved-body");
    const lasting = queue.database.lasting ? "They are kept on this computer, also when the tab is closed." : "This browser keeps nothing on disk: they last as long as this tab.";
    const others = Object.entries(this.elsewhere ?? {});
    body.replaceChildren(
      h("p", { text: queue.unsaved ? `${queue.unsaved} edit${queue.unsaved > 1 ? "s are" : " is"} not saved yet. ${lasting}` : "Every edit is saved." }),
      queue.trouble ? h("p", { class: "hint-warn", text: queue.trouble }) : "",
      h("ul", { class: "unsaved-list" }, queue.records.map((record) => this.#item(record))),
      queue.unsaved ? h("button", { type: "button", class: "button button-small", text: "Try now", onclick: () => queue.kick() }) : "",
      others.length
        ? h("p", {}, "Edits also wait in other videos: ", others.map(([video, count]) => h("a", { href: `/v/${video}/`, text: `${count} here` })).flatMap((link, i) => (i ? [", ", link] : [link])))
        : "",
    );
  }

  #item(record) {
    const words = { queued: "waits", conflict: "somebody else changed it too", refused: record.error }[record.status];
    const buttons = {
      conflict: [h("button", { type: "button", class: "button button-small", text: "Look", onclick: () => this.#look() })],
      refused: [
        h("button", { type: "button", class: "button button-small", text: "Try again", onclick: () => this.queue.retry(record) }),
        h("button", { type: "button", class: "button button-small button-danger", text: "Let it go", onclick: () => this.queue.discard(record) }),
      ],
    }[record.status];
    return h(
      "li",
      { data: { status: record.status } },
      h("div", {}, h("b", { text: record.label }), h("span", { class: "dim", text: ` ${words}` })),
      record.status === "refused" && h("pre", { class: "mono", text: this.merge.tell(record.fields) }),
      buttons && h("div", { class: "inspector-buttons" }, buttons),
    );
  }

  #look() {
    this.dialog.close();
    this.merge.next();
  }

  // ---- Login in place ----

  #login() {
    if (this.loginDialog.open) return;
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    const form = this.loginDialog.querySelector("form");
    form.elements.username.value = this.username;
    form.elements.password.value = "";
    this.loginDialog.querySelector(".login-count").textContent = this.queue.unsaved
      ? `${this.queue.unsaved} edit${this.queue.unsaved > 1 ? "s wait" : " waits"} on this computer and will be saved then.`
      : "";
    this.loginDialog.querySelector(".field-error").textContent = "";
    this.loginDialog.showModal();
    form.elements.password.focus();
  }

  async #sendLogin(event) {
    event.preventDefault();
    const { username, password } = event.target.elements;
    const problem = this.loginDialog.querySelector(".field-error");
    const button = event.target.querySelector("button.button-primary");
    button.disabled = true;
    try {
      const user = await this.api.login(username.value, password.value);
      if (String(user.id) !== String(this.queue.user)) {
        problem.textContent = "This is another person's account. The edits here belong to the person who made them.";
        return;
      }
      this.loginDialog.close();
      this.queue.channel.postMessage({ type: "kick" });
      this.queue.kick();
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      password.value = "";
      button.disabled = false;
    }
  }
}
