// The inspector at the right: whatever is selected, in the order what, who, when, why, history, comments.
// It is built anew when its thing changes, but never under somebody's hands: while a field is being typed in it waits.

import { Topics, h, icon, iconButton, isTyping, once, onceAFrame } from "../dom.js";
import { eventPanel, manyPanel } from "./event.js";
import { personPanel } from "./person.js";
import { correctionPanel, coveragePanel, overviewPanel } from "./other.js";

export class Inspector extends Topics {
  #waiting = false;

  constructor(parts) {
    super();
    Object.assign(this, parts); // root, store, actions, player, api, palette, timeline, queue, glyphs
    this.body = this.root.querySelector(".inspector-body");
    this.guest = null; // {about, panel(), back()}: what is shown while nothing is selected, instead of the overview
    this.stories = new Map(); // event id -> {version, story}: what the server tells beyond the row
    this.redraw = onceAFrame(() => this.draw(), this.root);
    const again = this.redraw;
    for (const topic of ["rows", "selection", "span"]) this.store.on(topic, again);
    this.player.on("settled", () => {
      if (this.store.selectedPerson) again();
    });
    this.root.addEventListener("focusout", () => {
      if (this.#waiting) again();
    });
  }

  draw() {
    // A field that is being typed in keeps its text; it is saved when it is left
    if (this.root.contains(document.activeElement) && isTyping(document.activeElement)) {
      this.#waiting = true;
      return;
    }
    this.#waiting = false;
    const focus = this.#focusKey();
    const scroll = this.body.scrollTop;
    const key = this.about;
    this.body.dataset.about = key;
    this.body.replaceChildren(...[this.#wayBack(), ...this.#panel()].filter(Boolean));
    this.body.scrollTop = key === this.key ? scroll : 0;
    this.key = key;
    if (focus) this.body.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  #focusKey() {
    return this.body.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
  }

  /** What is selected, as a word. */
  get about() {
    const { draft, selection } = this.store;
    if (this.guest && !draft && !selection.kind) return this.guest.about;
    return draft ? "draft" : `${selection.kind}:${selection.ids.join()}`;
  }

  #wayBack() {
    return this.guest && this.about !== this.guest.about ? this.guest.back() : null;
  }

  #panel() {
    const { store } = this;
    const { kind, ids } = store.selection;
    if (store.draft) return eventPanel(this, store.draft);
    if (kind === "event" && ids.length > 1) return manyPanel(this);
    if (store.selectedEvent) return eventPanel(this, store.selectedEvent);
    if (store.selectedPerson) return personPanel(this, store.selectedPerson);
    const row = ids.length ? store.get(kind, ids[0]) : null;
    if (row && kind === "correction") return correctionPanel(this, row);
    if (row && kind === "coverage") return coveragePanel(this, row);
    return this.guest?.panel() ?? overviewPanel(this);
  }

  /** The server's story of an event (details, history, comments); null until it is here. */
  story(event) {
    const known = this.stories.get(event.id);
    if (known?.version !== event.version && !this.store.pendingIds.has(`event:${event.id}`)) this.#fetchStory(event);
    return known?.story ?? null;
  }

  #fetchStory(event) {
    const asked = `${event.id} ${event.version}`;
    if (asked === this.asking) return;
    this.asking = asked;
    clearTimeout(this.fetching);
    this.fetching = setTimeout(async () => {
      try {
        this.keepStory(await this.api.get(`/events/${event.id}`));
      } catch (error) {
        console.warn("The story of an event could not be fetched.", error);
      } finally {
        if (this.asking === asked) this.asking = null;
      }
    }, 120);
  }

  keepStory(story) {
    this.stories.set(story.id, { version: story.version, story });
    if (this.stories.size > 300) this.stories.delete(this.stories.keys().next().value);
    if (this.store.isSelected("event", story.id)) this.redraw();
    this.emit("story", story.id);
  }

  // ---- Pieces that panels share ----

  section(title, ...children) {
    return h("section", { class: "inspector-section" }, title && h("h3", { text: title }), ...children);
  }

  chip(id, ...more) {
    const person = this.store.person(id);
    return h(
      "span",
      { class: "chip-person", style: { "--who": this.palette.ofPerson(person) } },
      (person && this.timeline.thumbs?.element(person.id, "small")) ??
        h("span", { class: "chip-number", text: person ? String(person.number) : "?" }),
      h("span", { class: "chip-name", text: this.store.personName(id) }),
      ...more,
    );
  }

  /** First and last frame of a span, editable; `kind` as the actions know it. */
  spanFields(kind, row) {
    const { store, actions, player } = this;
    const { times } = store;
    const field = (label, frame, set, side) =>
      h(
        "div",
        { class: "span-field" },
        h("label", { for: `span-${side}`, text: label }),
        h("input", {
          id: `span-${side}`,
          class: "mono",
          value: String(frame),
          size: 8,
          inputmode: "numeric",
          "data-focus": `span-${side}`,
          disabled: !store.may("annotate"),
          title: "A frame, or a time such as 1:02.5",
          onchange: (event) => this.#typedFrame(event.target, set),
        }),
        h("button", {
          type: "button",
          class: "span-clock mono",
          text: times.clock(frame),
          title: "Go there",
          onclick: () => player.seek(frame),
        }),
        iconButton(
          side === "in" ? "in" : "out",
          side === "in" ? "Start here (I)" : "End here (O)",
          () => actions.mark(side),
          { disabled: !store.may("annotate") },
        ),
      );
    const seconds = times.zeroed(row.end) - times.zeroed(row.start);
    const length = row.end - row.start;
    return h(
      "div",
      { class: "span-fields" },
      field(
        "First frame",
        row.start,
        (frame) => actions.setSpan(kind, row, Math.min(frame, row.end - 1), row.end),
        "in",
      ),
      field(
        "Last frame",
        row.end - 1,
        (frame) => actions.setSpan(kind, row, row.start, Math.max(frame + 1, row.start + 1)),
        "out",
      ),
      h("p", { class: "dim", text: `${length} frame${length === 1 ? "" : "s"}, ${seconds.toFixed(3)} s` }),
    );
  }

  #typedFrame(input, set) {
    const frame = this.parse(input.value);
    if (frame === null) {
      input.setCustomValidity("Write a frame number, or a time such as 1:02.5");
      input.reportValidity();
      return;
    }
    input.setCustomValidity("");
    input.blur();
    set(frame);
  }

  button(label, iconName, work, props = {}) {
    return h(
      "button",
      { type: "button", class: "button button-small", onclick: once(work), ...props },
      iconName && icon(iconName, true),
      h("span", { text: label }),
    );
  }
}
