// The social graph over the player: who is joined with whom in the part of the video that the timeline shows.

import { h, icon, iconButton, onceAFrame, afterQuiet } from "../workspace/dom.js";
import { Brush } from "./brush.js";
import { WORD, counted, eventsOf, finding, linesIn } from "./model.js";
import { Picture } from "./picture.js";

const MANY_PEOPLE = 24; // more nodes than this are a heap
const AGAIN_MS = 500; // after the last change of rows, the links are asked for again

export class GraphPanel {
  #chosen = new Set();
  #choosing = false;
  #events = null; // rows with their links; null until the server has answered
  #table = false;

  constructor({ store, window, palette, actions, queue, api, times }, button) {
    Object.assign(this, { store, window, palette, actions, queue, api, times, button });
    this.redraw = onceAFrame(() => this.draw());
    const ask = afterQuiet(AGAIN_MS, () => this.ask());
    this.#build();
    window.on("change", () => this.open && this.redraw());
    store.on("filters", () => this.open && this.redraw());
    store.on("selection", () => {
      if (!this.#choosing) this.#chosen = new Set(store.selection.ids);
      if (this.open) this.redraw();
    });
    store.on("rows", (kinds) => this.open && (kinds.has("event") || kinds.has("person")) && ask());
    queue.on("state", () => this.open && ask());
    new ResizeObserver(() => this.open && this.redraw()).observe(this.root);
    new MutationObserver(() => this.open && this.redraw()).observe(document.documentElement, {
      attributeFilter: ["data-theme"],
    });
  }

  get open() {
    return !this.root.hidden;
  }

  #build() {
    this.title = h("h2", { id: "graph-title" });
    this.confirmed = h("input", { type: "checkbox", id: "graph-confirmed", onchange: () => this.redraw() });
    this.switch = h("button", {
      type: "button",
      class: "toggle",
      id: "graph-table",
      "aria-pressed": "false",
      text: "Table",
      onclick: () => this.#setTable(!this.#table),
    });
    this.stage = h("div", { class: "graph-stage" });
    this.list = h("div", { class: "graph-table", hidden: true });
    this.note = h("p", { class: "graph-note dim", role: "status" });
    const strip = h("div", { class: "graph-brush" });
    this.root = h(
      "section",
      { class: "graph-panel", id: "graph", "aria-labelledby": "graph-title", hidden: true },
      h(
        "div",
        { class: "graph-head-bar" },
        this.title,
        h("label", { class: "graph-check" }, this.confirmed, h("span", { text: "Confirmed only" })),
        this.switch,
        h("button", {
          type: "button",
          class: "button button-small",
          text: "Whole video",
          onclick: () => this.window.show(0, this.times.frames),
        }),
        iconButton("x", "Close the social graph", () => this.close()),
      ),
      this.stage,
      this.list,
      this.note,
      strip,
    );
    this.root.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      this.close();
    });
    document.querySelector("#workspace").append(this.root);
    const { window, times, palette } = this;
    this.brush = new Brush({ root: strip, window, times, palette });
    this.picture = new Picture({
      root: this.stage,
      palette,
      name: this.name,
      number: this.number,
      sprite: icon("x").querySelector("use").getAttribute("href").split("#")[0],
      online: (line) => this.#choose(line),
      onperson: (id) => this.#choosePerson(id),
    });
  }

  name = (id) => this.store.personName(id);
  number = (id) => this.store.person(id)?.number ?? 0;

  toggle() {
    if (this.open) return this.close();
    this.#show(true);
    this.draw();
    this.switch.focus();
    return this.ask();
  }

  #show(on) {
    this.root.hidden = !on;
    for (const state of ["aria-expanded", "aria-pressed"]) this.button.setAttribute(state, String(on));
  }

  close() {
    this.#show(false);
    this.button.focus();
  }

  /** Fetch events and links of the whole video; which part of them is shown is decided here. */
  async ask() {
    try {
      this.#events = eventsOf(await this.api.get(`/videos/${this.store.video.id}/graph`));
      this.failure = "";
    } catch (error) {
      this.failure = `The links could not be fetched: ${error.message}`;
    }
    if (this.open) this.redraw();
  }

  #shown() {
    const { hidden, person } = this.store.filters;
    const takesPart = (event) => event.participants.some((pair) => this.store.rootOf(pair[0]) === person);
    return (this.#events ?? []).filter(
      (event) =>
        !hidden.has(event.type) &&
        (!this.confirmed.checked || event.status === "confirmed") &&
        (!person || takesPart(event)),
    );
  }

  draw() {
    if (!this.open) return;
    const { window, times } = this;
    const events = this.#shown();
    const [start, end] = [Math.floor(window.start), Math.ceil(window.end)];
    const lines = linesIn(events, start, end, times, this.number);
    const people = this.#people(lines);
    this.title.textContent = this.#events ? finding(lines, this.name) : "Fetching the links…";
    this.title.title = `${times.name(start)} to ${times.name(end)}`;
    this.note.textContent = this.failure || this.#words(lines, people, start, end);
    this.root.dataset.lines = String(lines.length);
    this.root.dataset.people = String(people.length);
    if (this.#table) this.#drawTable(lines);
    else this.picture.draw(people, lines, this.#chosen);
    this.brush.draw(events);
  }

  /** Who is drawn: everybody seen or joined in the part shown; of many, those joined the longest. */
  #people(lines) {
    const { store, window } = this;
    const long = new Map();
    for (const line of lines)
      for (const id of [line.from, line.to]) long.set(id, (long.get(id) ?? 0) + line.seconds);
    const span = [Math.floor(window.start), Math.ceil(window.end)];
    const there = store.people.filter((person) => long.has(person.id) || store.isPresent(person.id, ...span));
    this.leftOut = Math.max(0, there.length - MANY_PEOPLE);
    if (!this.leftOut) return there;
    const kept = new Set(
      there.toSorted((a, b) => (long.get(b.id) ?? 0) - (long.get(a.id) ?? 0)).slice(0, MANY_PEOPLE),
    );
    return there.filter((person) => kept.has(person));
  }

  #words(lines, people, start, end) {
    const { times } = this;
    const inside = new Set(lines.flatMap((line) => line.events)).size;
    const words = `${counted(inside, "event")} among ${people.length === 1 ? "1 person" : `${people.length} people`}, ${times.clock(start, 1)} to ${times.clock(end, 1)}. Thickness: time together. Dashed: gestures.`;
    return this.leftOut ? `${words} ${this.leftOut} more people are in the table only.` : words;
  }

  #setTable(on) {
    this.#table = on;
    this.switch.setAttribute("aria-pressed", String(on));
    this.stage.hidden = on;
    this.list.hidden = !on;
    this.draw();
  }

  #drawTable(lines) {
    const focus = this.list.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const row = (line) =>
      h(
        "tr",
        { "aria-selected": String(this.#chosen.has(line.key)) },
        h("td", {}, h("span", { class: "graph-type" }, icon(line.type, true), WORD(line))),
        h("td", { text: this.name(line.from) }),
        h("td", { text: line.from === line.to ? "alone" : this.name(line.to) }),
        h("td", { class: "mono", text: line.directed ? "→" : line.from === line.to ? "" : "↔" }),
        h("td", { class: "mono number", text: line.seconds.toFixed(1) }),
        h("td", { class: "mono number", text: String(line.linked) }),
        h(
          "td",
          { class: "number" },
          h("button", {
            type: "button",
            class: "button button-small",
            data: { key: line.key },
            text: `Select ${counted(line.events.length, "event")}`,
            onclick: () => this.#choose(line),
          }),
        ),
      );
    const heads = ["Type", "Who", "With whom", "Way", "Seconds", "Linked", ""];
    this.list.replaceChildren(
      h(
        "table",
        {},
        h("caption", { class: "sr-only", text: "Who is joined with whom, by what, for how long" }),
        h("thead", {}, h("tr", {}, heads.map((text, i) => h("th", { scope: "col", class: i > 3 ? "number" : "", text })))),
        h("tbody", {}, lines.map(row)),
      ),
      lines.length ? "" : h("p", { class: "dim", text: "No events in the part of the video that the timeline shows." }),
    );
    if (focus) this.list.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  /** Select a line's events in the workspace; the player goes to the first of them. */
  #choose(line) {
    const known = line.events.filter((id) => this.store.get("event", id));
    if (!known.length) return this.actions.say("These events are no longer there.");
    this.#select(line.key, () => {
      if (known.length === 1) this.actions.selectEvent(known[0]);
      else this.store.select("event", known);
    });
    return this.actions.say(`${counted(known.length, "event")} selected.`);
  }

  #choosePerson(id) {
    this.#select(id, () => this.actions.selectPerson(id));
  }

  #select(key, work) {
    this.#choosing = true;
    work();
    this.#choosing = false;
    this.#chosen = new Set([key]);
    this.redraw();
  }
}
