// The strip under the picture, while the inspector is closed: what is selected, why it was proposed, and a word on it.

import { h, icon, iconButton, onceAFrame } from "./dom.js";
import { eventButtons } from "./inspector/event.js";
import { reason } from "./inspector/why.js";
import { STATUS_WORDS, TYPES } from "./vocabulary.js";

export class Strip {
  constructor({ root, store, inspector, panels, actions }) {
    Object.assign(this, { root, store, inspector, panels, actions });
    const soon = onceAFrame(() => this.draw(), root);
    for (const topic of ["rows", "selection"]) store.on(topic, soon);
    panels.on("inspector", soon);
    inspector.on("story", soon);
    this.draw();
  }

  draw() {
    this.root.hidden = this.panels.inspectorShown;
    if (this.root.hidden) return;
    const focus = this.root.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    this.root.dataset.about = this.inspector.about;
    this.root.replaceChildren(
      ...this.#parts().filter(Boolean),
      iconButton("drawer", "Everything about it, in the inspector (D)", () => this.panels.toggleInspector(true)),
    );
    if (focus) this.root.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  #parts() {
    const { store } = this;
    const { kind, ids } = store.selection;
    const event = store.draft ?? store.selectedEvent;
    if (event) return this.#event(event);
    if (kind === "event") return this.#words(icon("layers", true), `${ids.length} events`);
    if (store.selectedPerson) return this.#words(this.inspector.chip(store.selectedPerson.id), "");
    const { guest } = this.inspector;
    if (guest) return this.#words(icon("bench", true), guest.line());
    const open = store.ordered.filter((one) => one.status === "proposed").length;
    return this.#words(null, open ? `${open} to review: N goes to the next one` : "Nothing selected");
  }

  #event(event) {
    const { store, inspector } = this;
    const draft = event === store.draft;
    const details = draft ? null : inspector.story(event)?.details;
    const state = draft ? "New" : STATUS_WORDS[event.status];
    const sure = draft || event.origin === "human" ? "" : ` ${Math.round(event.confidence * 100)} %`;
    const why = reason(store, event, details);
    return [
      icon(event.type, true),
      h("b", { text: TYPES[event.type].word }),
      h("span", { text: store.describe(event) }),
      h("span", { class: `pill pill-${draft ? "draft" : event.status}`, text: `${state}${sure}` }),
      h("span", { class: "strip-why dim", text: why, title: why || undefined }),
      eventButtons(inspector, event, draft),
    ];
  }

  #words(sign, text) {
    return [sign, h("span", { class: "strip-why", text })];
  }
}
