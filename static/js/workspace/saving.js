// The save indicator and what stands behind it: what is not saved and why, the merge view, the login in place.

import { h, icon, once } from "./dom.js";
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
    queue.on("stuck", (record) => actions.say(`Not saved: ${record.label}. ${record.error}`, "error"));
    queue.on("unkept", () =>
      actions.say("The browser could not keep this edit on disk: do not close the tab before it is saved.", "error"),
    );
    queue.on("login", (other) => this.#login(other));
    this.loginDialog.querySelector("form").addEventListener("submit", (event) => this.#sendLogin(event));
    this.draw();
  }

  draw() {
    const { queue } = this;
    const count = queue.unsaved;
    const waits = queue.trouble !== "" || queue.conflicts.length > 0 || queue.parked.length > 0;
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
    const unkept = queue.records.filter((record) => record.kept === false).length;
    const lasting = !unkept
      ? `${queue.unsaved > 1 ? "They are" : "It is"} kept on this computer, also when the tab is closed.`
      : `The browser keeps ${unkept === queue.unsaved ? "nothing" : `${unkept} of them not`} on disk: not kept across a closed tab.`;
    const others = Object.entries(this.elsewhere ?? {});
    body.replaceChildren(
      h("p", {
        text: queue.unsaved
          ? `${queue.unsaved} edit${queue.unsaved > 1 ? "s are" : " is"} not saved yet. ${lasting}`
          : "Every edit is saved.",
      }),
      queue.trouble ? h("p", { class: "hint-warn", text: queue.trouble }) : "",
      h(
        "ul",
        { class: "unsaved-list" },
        queue.records.map((record) => this.#item(record)),
      ),
      queue.unsaved
        ? h("button", { type: "button", class: "button button-small", text: "Try now", onclick: () => queue.kick() })
        : "",
      others.length
        ? h(
            "p",
            {},
            "Edits also wait in other videos: ",
            others
              .map(([video, count]) => h("a", { href: `/v/${video}/`, text: `${count} here` }))
              .flatMap((link, i) => (i ? [", ", link] : [link])),
          )
        : "",
    );
  }

  #item(record) {
    const { queue } = this;
    const parked = queue.parked.includes(record);
    const waits = record.kept === false ? "waits, in this tab only" : "waits";
    const words =
      { queued: waits, conflict: "somebody else changed it too" }[record.status] ?? `not saved: ${record.error}`;
    const button = (text, work, kind = "") =>
      h("button", { type: "button", class: `button button-small ${kind}`, text, onclick: once(work) });
    const buttons =
      record.status === "conflict"
        ? [button("Look", () => this.#look())]
        : [
            parked && button("Try again", () => queue.retry(record)),
            button("Let it go", () => queue.discard(record), "button-danger"),
          ].filter(Boolean);
    return h(
      "li",
      { data: { status: record.status, about: record.id } },
      h("div", {}, h("b", { text: record.label }), h("span", { class: "dim", text: ` ${words}` })),
      parked && h("pre", { class: "mono", text: this.merge.tell(record.fields) }),
      h("div", { class: "inspector-buttons" }, buttons),
    );
  }

  #look() {
    this.dialog.close();
    this.merge.next();
  }

  // ---- Login in place ----

  /** `other`: who else is logged in by now, or null. */
  #login(other) {
    if (this.loginDialog.open) return;
    for (const open of document.querySelectorAll("dialog[open]")) open.close();
    const form = this.loginDialog.querySelector("form");
    form.elements.username.value = this.username;
    form.elements.password.value = "";
    const { unsaved } = this.queue;
    const whose = other ? ` of ${this.store.me.name}` : "";
    const count = `${unsaved} edit${unsaved > 1 ? "s" : ""}${whose} wait${unsaved > 1 ? "" : "s"} on this computer and will be saved then.`;
    this.loginDialog.querySelector(".login-why").textContent = other
      ? `${other.name} is logged in in this browser now; this page belongs to ${this.store.me.name}.`
      : "You were logged out.";
    this.loginDialog.querySelector(".login-count").textContent = unsaved ? count : "";
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
        problem.textContent = `This is another person's account. The edits here were made by ${this.store.me.name}, who has to log in.`;
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
