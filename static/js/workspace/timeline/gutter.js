// The names at the left of the timeline: people, event types and coverage, each beside its lane.

import { h, icon, isPressed } from "../dom.js";
import { TYPES } from "../vocabulary.js";
import { WAVE } from "./marks.js";
import { LANE } from "./people.js";
import { RULER } from "./ruler.js";

export class Gutter {
  #key = null;

  constructor(root, timeline) {
    Object.assign(this, { root, timeline });
  }

  /** Portraits have come. */
  refresh() {
    this.#key = null;
    this.draw();
  }

  /** Build the names anew if they are other ones, and put them where their lanes are. */
  draw() {
    const { rows, store, panes, palette, scrolls } = this.timeline;
    const key = [
      rows.people.map((p) => `${p.id}${p.version}`).join(),
      rows.lanes.map((lane) => `${lane.type}${lane.height}`).join(),
      store.selection.ids.join(),
      JSON.stringify(panes),
      palette.dark,
    ].join("|");
    if (key !== this.#key && !isPressed(this.root)) {
      this.#key = key;
      this.#build();
    }
    for (const name of ["people", "events"])
      this.root.querySelector(`.tl-names-${name} > div`).style.transform = `translateY(${-scrolls[name]}px)`;
  }

  #build() {
    const { timeline } = this;
    const { people } = timeline.rows;
    this.root.replaceChildren(
      timeline.waveform
        ? h("span", { class: "tl-name-wave", style: { top: `${RULER}px`, height: `${WAVE}px` }, text: "Sound" })
        : "",
      this.#pane(
        "people",
        people.map((person, i) => this.#person(person, 2 + i * LANE)),
      ),
      this.#pane("events", this.#lanes()),
    );
  }

  #pane(name, children) {
    const { timeline } = this;
    const { top, height } = timeline.panes[name];
    const pane = h(
      "div",
      { class: `tl-names tl-names-${name}`, style: { top: `${top}px`, height: `${height}px` } },
      h("div", {}, children),
    );
    const scroll = (event) => timeline.scrollPane(name, event.deltaY) && event.preventDefault();
    pane.addEventListener("wheel", scroll, { passive: false });
    return pane;
  }

  #lanes() {
    const { rows, store } = this.timeline;
    const name = ({ y, height }, title, ...parts) =>
      h("div", { class: "tl-name-lane", style: { top: `${y}px`, height: `${height}px` }, title }, ...parts);
    return [
      ...rows.lanes.map((lane) =>
        name(
          lane,
          TYPES[lane.type].word,
          icon(lane.type, true),
          h("span", { text: TYPES[lane.type].short }),
          h("span", { class: "tl-count", text: String(store.lane(lane.type).events.length) }),
        ),
      ),
      name(rows.cover, null, icon("coverage", true), h("span", { text: "Covered" })),
    ];
  }

  #person(person, y) {
    const { palette, store, actions, thumbs } = this.timeline;
    return h(
      "button",
      {
        type: "button",
        class: "tl-name-person",
        style: { top: `${y}px`, height: `${LANE}px` },
        "aria-pressed": String(store.isSelected("person", person.id)),
        title: store.personName(person.id),
        onclick: () => actions.selectPerson(person.id),
        ondblclick: () => actions.zoomToPerson(person.id),
      },
      thumbs?.element(person.id) ??
        h("span", {
          class: "tl-face",
          style: { "--who": palette.ofPerson(person) },
          text: String(person.number),
        }),
      h(
        "span",
        { class: "tl-who" },
        h("b", { text: store.personName(person.id) }),
        h("i", { text: presence(store, person.id) }),
      ),
    );
  }
}

function presence(store, id) {
  const { times } = store;
  const seconds = store.trackletsOf(id).reduce((sum, t) => sum + times.zeroed(t.end) - times.zeroed(t.start), 0);
  return seconds >= 60
    ? `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s seen`
    : `${seconds.toFixed(1)} s seen`;
}
