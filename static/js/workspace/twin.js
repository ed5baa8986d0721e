// The twin of the event lanes for screen readers and tests: the events in view, in order, as buttons that are hidden
// from sight but not from the keyboard.

import { afterQuiet, h } from "./dom.js";
import { STATUS_WORDS, TYPES } from "./vocabulary.js";

const MOST = 200;

export class Twin {
  constructor({ root, store, window, actions }) {
    Object.assign(this, { root, store, window, actions });
    const soon = afterQuiet(150, () => this.draw());
    for (const topic of ["rows", "selection", "filters"]) store.on(topic, soon);
    window.on("change", soon);
    root.addEventListener("click", (event) => {
      const button = event.target.closest("button[data-event]");
      if (button) actions.selectEvent(button.dataset.event);
    });
    this.draw();
  }

  draw() {
    const { store, window } = this;
    const events = store.ordered
      .filter((event) => event.end > window.start && event.start < window.end && store.passes(event))
      .slice(0, MOST);
    const key = events.map((event) => `${event.id}${event.version}${store.isSelected("event", event.id)}`).join();
    if (key === this.key) return;
    this.key = key;
    const focused = this.root.contains(document.activeElement) ? document.activeElement.dataset.event : null;
    this.root.replaceChildren(...events.map((event) => h("li", {}, this.#button(event))));
    if (focused) this.root.querySelector(`[data-event="${focused}"]`)?.focus({ preventScroll: true });
  }

  #button(event) {
    const { times } = this.store;
    const words = `${TYPES[event.type].word}, ${this.store.describe(event)}, ${times.clock(event.start)} to ${times.clock(event.end)}, ${STATUS_WORDS[event.status].toLowerCase()}, ${Math.round(event.confidence * 100)} percent`;
    return h("button", {
      type: "button",
      text: words,
      "aria-pressed": String(this.store.isSelected("event", event.id)),
      data: {
        event: event.id,
        type: event.type,
        status: event.status,
        start: event.start,
        end: event.end,
        version: event.version,
      },
    });
  }
}
