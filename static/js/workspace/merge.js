// The merge view: two people changed one thing. Field by field: what it was, mine, theirs; nothing is overwritten unseen.

import { h, uuid } from "./dom.js";
import { ago } from "./inspector/event.js";
import { CORRECTION_WORDS, STATUS_WORDS, TYPES } from "./vocabulary.js";

const WORDS = {
  type: "Type",
  status: "State",
  start: "First frame",
  end: "Last frame",
  participants: "People",
  note: "Note",
  name: "Name",
  colour: "Colour",
  person: "Person",
  target_person: "Looks at",
  kind: "Target",
  persons: "People",
  modality: "Modality",
  into: "Merged into",
  x: "x",
  y: "y",
};
const BY_FIELD = new Set(["event.update", "person.update", "tracklet.assign", "correction.update", "coverage.update"]);
const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

export class MergeView {
  constructor({ queue, store, actions }) {
    Object.assign(this, { queue, store, actions });
    this.dialog = document.querySelector("#merge");
    this.body = this.dialog.querySelector(".merge-body");
    this.dialog.addEventListener("cancel", () =>
      actions.say("Your change is kept as unsaved; look at it from the save indicator."),
    );
    queue.on("state", () => {
      if (this.dialog.open && !queue.conflicts.some(({ id }) => id === this.shown)) this.dialog.close(); // decided in another tab
    });
  }

  /** Show the first conflict that waits, if any. */
  next() {
    if (this.dialog.open) return;
    const [record] = this.queue.conflicts;
    if (record) this.#show(record);
  }

  #show(record) {
    const { theirs, by, at } = record.conflict;
    this.shown = record.id;
    const behind = this.queue.behind(record);
    // What changes fields of the same row is decided together; anything else behind it keeps its place
    this.folded = BY_FIELD.has(record.kind) ? behind.filter((one) => one.kind === record.kind) : [];
    this.later = behind.filter((one) => !this.folded.includes(one) && one.kind !== "undo");
    this.mine = Object.assign({}, record.fields, ...this.folded.map((one) => one.fields));
    const who = `${by} (${ago(at)})`;
    if (theirs === null) {
      if (record.kind.endsWith(".delete")) return this.#end(record, null, true); // both did the same
      this.#showDeleted(record, who);
    } else if (BY_FIELD.has(record.kind)) {
      if (Object.entries(this.mine).every(([name, value]) => same(value, theirs[name])))
        return this.#end(record, null, true);
      this.#showFields(record, theirs, who);
    } else this.#showWhole(record, theirs, who);
    if (!this.dialog.open) this.dialog.showModal();
    return undefined;
  }

  #button(label, onclick, kind = "") {
    return h("button", { type: "button", class: `button ${kind}`, onclick }, label);
  }

  /** `keep`: what waits behind it follows on; by default it does when something of mine is kept. */
  async #end(record, edit, keep = Boolean(edit)) {
    this.dialog.close();
    await this.queue.resolve(record, edit, { folded: this.folded, keep });
    this.next();
  }

  /** The edit anew, from their version. */
  #anew(record, fields) {
    return {
      kind: record.kind,
      object: record.object,
      fields,
      label: record.label,
      version: record.conflict.theirs.version,
    };
  }

  // ---- Field by field ----

  #showFields(record, theirs, who) {
    const before = record.base ?? {};
    const fields = Object.keys(this.mine).filter((name) => !same(this.mine[name], theirs[name]));
    const choice = {};
    const rows = fields.map((name) => {
      // Where only I changed a field, mine is the natural choice; where both did, theirs stands until I say otherwise
      const onlyMine = name in before && same(before[name], theirs[name]);
      choice[name] = onlyMine ? "mine" : "theirs";
      return this.#row(name, before[name], theirs[name], choice);
    });
    const alsoTheirs = Object.keys(WORDS).filter(
      (name) => name in theirs && name in before && !(name in this.mine) && !same(before[name], theirs[name]),
    );
    this.body.replaceChildren(
      h("p", {
        text: `You and ${who} both changed the same thing: ${record.label}. Choose for each field; nothing is saved until you do.`,
      }),
      h(
        "table",
        { class: "merge-table" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { text: "Field" }),
            h("th", { text: "Before" }),
            h("th", { text: "Yours" }),
            h("th", { text: `Theirs (${record.conflict.by})` }),
          ),
        ),
        h("tbody", {}, rows),
      ),
      this.later.length
        ? h("p", {
            class: "dim",
            text: `Also waiting: ${this.later.map((one) => one.label).join(", ")}. Sent after it when you keep something of yours, asked about otherwise.`,
          })
        : "",
      alsoTheirs.length
        ? h("p", {
            class: "dim",
            text: `They also changed: ${alsoTheirs.map((name) => `${WORDS[name].toLowerCase()} to ${this.value(name, theirs[name])}`).join(", ")}. That stays.`,
          })
        : "",
      h(
        "div",
        { class: "dialog-actions" },
        this.#button("Take theirs", () => this.#end(record, null)),
        this.#button("Keep mine", () => this.#end(record, this.#anew(record, this.mine))),
        this.#button("Save as chosen", () => this.#saveChosen(record, choice, theirs), "button-primary"),
      ),
    );
  }

  #row(name, before, theirs, choice) {
    const radio = (side, value) =>
      h(
        "td",
        {},
        h(
          "label",
          { class: "merge-choice" },
          h("input", {
            type: "radio",
            name: `merge-${name}`,
            value: side,
            checked: choice[name] === side,
            onchange: () => (choice[name] = side),
          }),
          h("span", { class: "mono", text: this.value(name, value) }),
        ),
        side === "mine" && (name === "start" || name === "end") && this.#edit(name, value, choice),
      );
    return h(
      "tr",
      {},
      h("th", { scope: "row", text: WORDS[name] ?? name }),
      h("td", { class: "dim mono", text: before === undefined ? "" : this.value(name, before) }),
      radio("mine", this.mine[name]),
      radio("theirs", theirs),
    );
  }

  /** A frame may also be set to something in between. */
  #edit(name, value, choice) {
    const shown = name === "end" ? value - 1 : value;
    return h("input", {
      class: "mono merge-frame",
      inputmode: "numeric",
      value: String(shown),
      "aria-label": `${WORDS[name]}, another value`,
      onchange: (event) => {
        const frame = Number(event.target.value);
        if (!Number.isInteger(frame) || frame < 0) {
          event.target.value = String(shown);
          return;
        }
        this.mine[name] = name === "end" ? frame + 1 : frame;
        choice[name] = "mine";
        event.target.closest("td").querySelector("input[type=radio]").checked = true;
        event.target.closest("td").querySelector("span").textContent = this.value(name, this.mine[name]);
      },
    });
  }

  #saveChosen(record, choice, theirs) {
    const fields = {};
    for (const [name, side] of Object.entries(choice))
      if (side === "mine" && !same(this.mine[name], theirs[name])) fields[name] = this.mine[name];
    this.#end(record, Object.keys(fields).length ? this.#anew(record, fields) : null);
  }

  // ---- As a whole ----

  #showWhole(record, theirs, who) {
    const again = record.kind !== "undo" && !record.kind.endsWith(".create");
    const sentence =
      record.kind === "undo"
        ? `“${record.label}” was not done: ${who} changed the same thing since.`
        : `Before “${record.label}” was saved, ${who} changed the same thing.`;
    this.body.replaceChildren(
      h("p", { text: sentence }),
      h("pre", { class: "mono", text: this.tell(theirs) }),
      h(
        "div",
        { class: "dialog-actions" },
        this.#button("Leave it as it is now", () => this.#end(record, null), again ? "" : "button-primary"),
        again &&
          this.#button(
            "Do it all the same",
            () => this.#end(record, this.#anew(record, record.fields)),
            "button-primary",
          ),
      ),
    );
  }

  #showDeleted(record, who) {
    const base = record.base;
    const again = record.kind === "event.update" && base;
    const { type, modality, start, end, participants, note } = { ...base, ...this.mine };
    const edit = again && {
      kind: "event.create",
      object: uuid(),
      fields: { type, modality, start, end, participants, note: note ?? "", status: "confirmed" },
      label: `make again: ${record.label}`,
    };
    this.body.replaceChildren(
      h("p", { text: `${who} deleted what you changed: ${record.label}.` }),
      h("pre", { class: "mono", text: this.tell(this.mine) }),
      h(
        "div",
        { class: "dialog-actions" },
        this.#button("Let it go", () => this.#end(record, null)),
        again && this.#button("Make it again with my values", () => this.#end(record, edit), "button-primary"),
      ),
    );
  }

  // ---- Words ----

  value(name, value) {
    const { store } = this;
    if (value === null || value === undefined || value === "") return "none";
    if (name === "participants") return value.map(([id, role]) => `${store.shortName(id)} ${role}`).join(", ");
    if (name === "type") return TYPES[value]?.word ?? value;
    if (name === "status") return STATUS_WORDS[value] ?? value;
    if (name === "kind") return CORRECTION_WORDS[value] ?? value;
    if (name === "start") return store.times.name(value);
    if (name === "end") return store.times.name(value - 1);
    if (["person", "target_person", "into"].includes(name)) return store.personName(value);
    if (name === "persons") return value.length ? value.map((id) => store.shortName(id)).join(", ") : "everybody";
    return String(value);
  }

  /** Fields or a row in words, one a line. */
  tell(fields) {
    return Object.entries(fields ?? {})
      .filter(([name]) => WORDS[name])
      .map(([name, value]) => `${WORDS[name]}: ${this.value(name, value)}`)
      .join("\n");
  }
}
