// The bar over the timeline: zoom, which types are shown, whose events, rejected ones, only people in view.

import { h, icon, onceAFrame } from "./dom.js";
import { TYPES } from "./vocabulary.js";

export class Toolbar {
  constructor({ root, store, window, actions, workspace }) {
    Object.assign(this, { root, store, window, actions });
    this.types = root.querySelector("#filter-types");
    this.people = root.querySelector("#filter-person");
    this.rejected = root.querySelector("#show-rejected");
    this.present = root.querySelector("#only-present");
    this.triage = root.querySelector("#triage");
    root.querySelector("#zoom-in").addEventListener("click", () => workspace.zoom(1.5));
    root.querySelector("#zoom-out").addEventListener("click", () => workspace.zoom(1 / 1.5));
    root.querySelector("#zoom-fit").addEventListener("click", () => window.show(0, store.times.frames));
    root.querySelector("#undo").addEventListener("click", () => actions.undoLast());
    root.querySelector("#redo").addEventListener("click", () => actions.redoLast());
    workspace.queue.on("state", () => this.drawUndo());
    this.rejected.addEventListener("click", () => store.setFilters({ rejected: !store.filters.rejected }));
    this.present.addEventListener("click", () => store.setFilters({ present: !store.filters.present }));
    this.triage.addEventListener("click", () => actions.setTriage(actions.triage ? null : "all"));
    this.people.addEventListener("change", () => store.setFilters({ person: this.people.value || null }));
    const soon = onceAFrame(() => this.draw(), root);
    store.on("filters", soon);
    store.on("rows", (kinds) => {
      if (kinds.has("person") || kinds.has("event")) soon();
    });
    actions.on("triage", (what) => this.triage.setAttribute("aria-pressed", String(Boolean(what))));
    this.draw();
  }

  draw() {
    const { store } = this;
    const { hidden, rejected, present, person } = store.filters;
    const counts = new Map();
    let away = 0;
    for (const event of store.ordered) {
      if (event.status === "rejected") away++;
      counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
    }
    const types = Object.keys(TYPES).filter((type) => counts.has(type) || TYPES[type].modality === "gaze");
    this.types.replaceChildren(
      ...types.map((type) =>
        h(
          "button",
          {
            type: "button",
            class: "button button-quiet button-icon button-small",
            "aria-pressed": String(!hidden.has(type)),
            "aria-label": `Show ${TYPES[type].word.toLowerCase()}`,
            title: `${TYPES[type].word}: ${counts.get(type) ?? 0}. Click to ${hidden.has(type) ? "show" : "hide"}`,
            onclick: () => this.#toggleType(type),
          },
          icon(type, true),
        ),
      ),
    );
    this.rejected.setAttribute("aria-pressed", String(rejected));
    this.rejected.querySelector("span").textContent = away ? `Rejected ${away}` : "Rejected";
    this.present.setAttribute("aria-pressed", String(present));
    const known = store.people.map((one) => `${one.id}${one.version}`).join();
    if (known !== this.known) {
      this.known = known;
      this.people.replaceChildren(
        h("option", { value: "", text: "Everybody" }),
        ...store.people.map((one) =>
          h("option", { value: one.id, text: `${one.number}  ${store.personName(one.id)}` }),
        ),
      );
    }
    this.people.value = person ?? "";
  }

  drawUndo() {
    const { undo } = this.actions;
    for (const [name, label, word] of [
      ["undo", undo.undoLabel, "Undo"],
      ["redo", undo.redoLabel, "Redo"],
    ]) {
      const button = this.root.querySelector(`#${name}`);
      button.disabled = label === null;
      button.title = label === null ? word : `${word}: ${label}`;
    }
  }

  #toggleType(type) {
    const hidden = new Set(this.store.filters.hidden);
    if (!hidden.delete(type)) hidden.add(type);
    this.store.setFilters({ hidden });
  }
}
