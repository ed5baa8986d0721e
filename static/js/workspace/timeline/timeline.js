// The timeline: two canvases over one another (what stays, and what moves with the pointer and the playhead), a gutter
// with names, and the mini-map. Everything is drawn in CSS pixels at the screen's pixel ratio, and only on change.

import { onceAFrame, clamp } from "../dom.js";
import { KIND_WORDS, TYPES } from "../vocabulary.js";
import { laneOfCode } from "../ribbon.js";
import { BAR, ROW, barSpan, drawBar } from "./bars.js";
import { LANE, drawPerson } from "./people.js";
import { Crowd } from "./crowd.js";
import { Gutter } from "./gutter.js";
import { RULER, drawGrid, drawRuler } from "./ruler.js";
import { WAVE, drawCoverage, drawMarks, drawWaveform } from "./marks.js";
import { Minimap } from "./minimap.js";
import { Pointer } from "./pointer.js";

const COVER = 16;
const EDGE_PX = 5;

export class Timeline {
  constructor({ root, store, player, window, palette, glyphs, actions, run }) {
    Object.assign(this, { root, store, player, window, palette, glyphs, actions, run });
    this.ribbon = null;
    this.waveform = null;
    this.threshold = 0;
    this.base = root.querySelector(".tl-base");
    this.top = root.querySelector(".tl-top");
    this.small = root.querySelector(".tl-minimap");
    this.gutter = new Gutter(root.querySelector(".tl-gutter"), this);
    this.readout = root.querySelector(".tl-readout");
    this.hover = null;
    this.ghost = null; // what a drag would do
    this.guest = null; // {draw(pen, timeline)}: marks of something else than events, under the playhead
    this.scrolls = { people: 0, events: 0 };
    this.redraw = onceAFrame(() => this.#drawBase());
    this.redrawTop = onceAFrame(() => this.#drawTop());
    this.minimap = new Minimap({ canvas: this.small, window, store, palette, player, redraw: this.redraw });
    this.pointer = new Pointer(this);
    new ResizeObserver(() => this.resize()).observe(root.querySelector(".tl-stage"));
    window.on("change", () => {
      if (store.filters.present) this.#followWindow();
      this.redraw();
    });
    store.on("rows", () => this.changed());
    store.on("selection", () => this.changed());
    store.on("filters", () => this.changed());
    store.on("span", () => this.redrawTop());
    player.on("frame", (frame) => {
      if (player.playing) window.reveal(frame, true);
      this.redrawTop();
    });
  }

  /** Rows may have come or gone. */
  changed() {
    this.minimap.forget();
    this.layout();
    this.redraw();
  }

  resize() {
    const stage = this.root.querySelector(".tl-stage");
    this.width = stage.clientWidth;
    this.height = stage.clientHeight;
    this.ratio = devicePixelRatio || 1;
    for (const canvas of [this.base, this.top]) fit(canvas, this.width, this.height, this.ratio);
    fit(this.small, this.small.parentElement.clientWidth, this.small.parentElement.clientHeight, this.ratio);
    this.window.resize(this.width);
    this.changed();
    this.#drawBase(); // a resized canvas is empty until it is drawn
  }

  // ---- Where things are ----

  layout() {
    const { store } = this;
    const people = this.#peopleShown();
    const head = RULER + (this.waveform ? WAVE : 0);
    const body = Math.max(0, (this.height ?? 300) - head);
    const peopleHeight = people.length * LANE + 4;
    // both panes get what they need; when there is not enough, events may take up to three fifths, in fewer rows
    const most = Math.max(body * 0.6, body - peopleHeight);
    store.mostRows = 3;
    let events = this.#layoutLanes();
    if (events.height > most) {
      store.mostRows = 2;
      events = this.#layoutLanes();
    }
    const { lanes, cover, height: eventsHeight } = events;
    const eventsPane = Math.min(eventsHeight, most, body);
    const peopleTop = head;
    const eventsTop = head + body - eventsPane;
    this.panes = {
      people: { top: peopleTop, height: eventsTop - peopleTop, inner: peopleHeight },
      events: { top: eventsTop, height: eventsPane, inner: eventsHeight },
    };
    for (const [name, pane] of Object.entries(this.panes))
      this.scrolls[name] = clamp(this.scrolls[name], 0, Math.max(0, pane.inner - pane.height));
    this.rows = { people, lanes, cover };
    this.gutter.draw();
  }

  #peopleShown() {
    const { store, window } = this;
    if (store.filters.present)
      return store.people.filter((person) => store.isPresent(person.id, window.start, window.end));
    return store.people.filter(
      (person) => store.trackletsOf(person.id).length || store.isSelected("person", person.id) || !store.run,
    );
  }

  /** Other people may have come into the part that is shown. */
  #followWindow() {
    const people = this.#peopleShown();
    const same = people.length === this.rows?.people.length && people.every((one, i) => one === this.rows.people[i]);
    if (!same) this.layout();
  }

  /** Event lanes from top to bottom, and coverage under them. */
  #layoutLanes() {
    let y = 4;
    const lanes = this.store.laneTypes.map((type) => {
      const lane = { type, y, height: 4 + this.store.lane(type).rows * ROW };
      y += lane.height;
      return lane;
    });
    return { lanes, cover: { y: y + 2, height: COVER }, height: y + COVER + 6 };
  }

  /** Vertical position in the canvas of a thing inside a pane. */
  yOf(pane, y) {
    return this.panes[pane].top - this.scrolls[pane] + y;
  }

  scrollPane(name, pixels) {
    const pane = this.panes[name];
    const before = this.scrolls[name];
    this.scrolls[name] = clamp(before + pixels, 0, Math.max(0, pane.inner - pane.height));
    if (this.scrolls[name] === before) return false;
    this.gutter.draw();
    this.redraw();
    return true;
  }

  /** Bring a person's lane into view. */
  revealPerson(id) {
    const index = this.rows.people.findIndex((person) => person.id === id);
    const pane = this.panes.people;
    const y = index * LANE;
    if (index < 0) return;
    if (y < this.scrolls.people) this.scrollPane("people", y - this.scrolls.people);
    else if (y + LANE > this.scrolls.people + pane.height)
      this.scrollPane("people", y + LANE - pane.height - this.scrolls.people);
  }

  paneAt(y) {
    if (y < RULER) return "ruler";
    if (y < this.panes.people.top) return "wave";
    return y < this.panes.events.top ? "people" : "events";
  }

  personAt(y) {
    const index = Math.floor((y - this.yOf("people", 2)) / LANE);
    return this.rows.people[index] ?? null;
  }

  laneAt(y) {
    const inner = y - this.yOf("events", 0);
    return this.rows.lanes.find((lane) => inner >= lane.y && inner < lane.y + lane.height) ?? null;
  }

  barTop(event, lane = this.rows.lanes.find((one) => one.type === event.type)) {
    if (!lane) return null;
    return this.yOf("events", lane.y + 2 + (this.store.lane(event.type).rowOf.get(event.id) ?? 0) * ROW);
  }

  /** What lies under a point: {pane, frame, person?, lane?, kind?, row?, edge?}. */
  locate(x, y) {
    const found = { pane: this.paneAt(y), frame: this.window.frame(x), x, y };
    if (found.pane === "people") {
      found.person = this.personAt(y);
      if (found.person) this.#locateCorrection(found, x, y);
    } else if (found.pane === "events") {
      found.lane = this.laneAt(y);
      if (found.lane) this.#locateEvent(found, x, y);
      else this.#locateCoverage(found, x, y);
    }
    return found;
  }

  #locateEvent(found, x, y) {
    const { store } = this;
    const reach = 12 / this.window.scale;
    let best = null;
    for (const event of store.inView(found.lane.type, found.frame - reach, found.frame + reach)) {
      const top = this.barTop(event, found.lane);
      const [left, right] = barSpan(this.window, event);
      const selected = event === store.draft || store.isSelected("event", event.id);
      const slack = selected ? EDGE_PX : 2;
      if (y < top - 1 || y > top + BAR + 1 || x < left - slack || x > right + slack) continue;
      const distance = x < left ? left - x : x > right ? x - right : 0;
      const rank = (selected ? -100 : 0) + distance;
      if (!best || rank < best.rank) best = { event, left, right, rank, selected };
    }
    if (!best) return;
    found.kind = best.event === store.draft ? "draft" : "event";
    found.row = best.event;
    found.edge = edgeOf(x, best.left, best.right, best.selected);
  }

  #locateCorrection(found, x, y) {
    const top = this.yOf("people", this.rows.people.indexOf(found.person) * LANE + 2);
    if (y > top + 19) return;
    for (const row of this.store.correctionsOf(found.person.id).toReversed()) {
      const [left, right] = barSpan(this.window, row);
      if (x < left - 3 || x > right + 3) continue;
      Object.assign(found, {
        kind: "correction",
        row,
        edge: edgeOf(x, left, right, this.store.isSelected("correction", row.id)),
      });
      return;
    }
  }

  #locateCoverage(found, x, y) {
    const top = this.yOf("events", this.rows.cover.y);
    if (y < top - 2) return;
    found.cover = true;
    for (const row of this.store.all("coverage")) {
      const [left, right] = barSpan(this.window, row);
      if (x < left - 3 || x > right + 3) continue;
      Object.assign(found, {
        kind: "coverage",
        row,
        edge: edgeOf(x, left, right, this.store.isSelected("coverage", row.id)),
      });
      return;
    }
  }

  // ---- Drawing ----

  #drawBase() {
    if (!this.width || !this.rows) return;
    const { window, store, palette, width, height, ratio } = this;
    const pen = this.base.getContext("2d", { alpha: false });
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = palette.bg;
    pen.fillRect(0, 0, width, height);
    this.#drawPane(pen, "people", () => this.#drawPeople(pen));
    this.#drawPane(pen, "events", () => this.#drawEvents(pen));
    pen.fillStyle = palette.line_strong;
    pen.fillRect(0, this.panes.events.top - 0.5, width, 1);
    drawRuler(pen, { window, times: store.times, store, palette, width, height: RULER });
    if (this.waveform)
      drawWaveform(pen, { window, times: store.times, palette, waveform: this.waveform, y: RULER, height: WAVE });
    this.#drawScrollbars(pen);
    const small = this.small.getContext("2d", { alpha: false });
    small.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.minimap.draw(small, this.small.width / ratio, this.small.height / ratio, ratio);
    this.#drawTop();
    if (!this.drawn) performance.mark("workspace-painted");
    this.drawn = true;
  }

  #drawPane(pen, name, work) {
    const { top, height } = this.panes[name];
    pen.save();
    pen.beginPath();
    pen.rect(0, top, this.width, height);
    pen.clip();
    drawGrid(pen, {
      window: this.window,
      times: this.store.times,
      store: this.store,
      palette: this.palette,
      top,
      bottom: top + height,
    });
    work();
    pen.restore();
  }

  #drawPeople(pen) {
    const { top, height } = this.panes.people;
    const { window, store, ribbon, palette, threshold } = this;
    this.rows.people.forEach((person, i) => {
      const y = this.yOf("people", 2 + i * LANE);
      if (y + LANE < top || y > top + height) return;
      if (store.isSelected("person", person.id)) {
        pen.fillStyle = palette.accent_soft;
        pen.globalAlpha = 0.55;
        pen.fillRect(0, y, this.width, LANE);
        pen.globalAlpha = 1;
      }
      drawPerson(pen, { window, store, ribbon, palette, person, y, threshold, rate: this.run?.rate ?? 2 });
      pen.fillStyle = palette.line;
      pen.fillRect(0, y + LANE - 0.5, this.width, 0.5);
    });
  }

  #drawEvents(pen) {
    const { window, store, palette, glyphs } = this;
    const start = window.start - 4 / window.scale;
    const end = window.end;
    for (const lane of this.rows.lanes) {
      const bottom = this.yOf("events", lane.y + lane.height) - 0.5;
      pen.fillStyle = palette.line;
      pen.fillRect(0, bottom, this.width, 0.5);
      const { rowOf } = store.lane(lane.type);
      const top = this.yOf("events", lane.y + 2);
      const bars = [];
      const before = []; // per row the wide bar last laid into it, whose words end where the next one begins
      const crowd = new Crowd({ window, store, palette });
      for (const event of store.inView(lane.type, start, end)) {
        const row = rowOf.get(event.id) ?? 0;
        const y = top + row * ROW;
        const [left, right] = barSpan(window, event);
        if (before[row]) before[row].room = Math.min(before[row].room, left);
        const draft = event === store.draft;
        const selected = draft || store.isSelected("event", event.id);
        if (!selected && crowd.take(event, left, right, y)) continue;
        before[row] = { window, store, palette, glyphs, y, left, right, room: right, selected, draft };
        bars.push([event, before[row]]);
      }
      crowd.draw(pen);
      for (const [event, shared] of bars) if (!shared.selected) drawBar(pen, event, shared);
      for (const [event, shared] of bars) if (shared.selected) drawBar(pen, event, shared);
    }
    drawCoverage(pen, { window, store, palette, y: this.yOf("events", this.rows.cover.y), height: COVER });
  }

  #drawScrollbars(pen) {
    for (const [name, { top, height, inner }] of Object.entries(this.panes)) {
      if (inner <= height + 1) continue;
      pen.fillStyle = this.palette.line_strong;
      pen.globalAlpha = 0.55;
      const length = Math.max(18, (height * height) / inner);
      pen.beginPath();
      pen.roundRect(this.width - 6, top + ((height - length) * this.scrolls[name]) / (inner - height), 4, length, 2);
      pen.fill();
      pen.globalAlpha = 1;
    }
  }

  #drawTop() {
    if (!this.width || !this.rows) return;
    const pen = this.top.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.width, this.height);
    drawMarks(pen, this);
    this.#drawSmallPlayhead();
  }

  /** The playhead on the mini-map is an element of its own, so that the map need not be drawn again. */
  #drawSmallPlayhead() {
    this.mark ??= this.root.querySelector(".tl-minimap-head");
    const share = (this.player.frame + 0.5) / this.store.times.frames;
    this.mark.style.transform = `translateX(${share * this.small.clientWidth}px)`;
  }

  // ---- Read-out ----

  /** One line about what is under the pointer. */
  describe(found) {
    const frame = clamp(Math.floor(found.frame), 0, this.store.times.frames - 1);
    const parts = [this.store.times.name(frame)];
    if (found.kind === "event")
      parts.push(
        `${TYPES[found.row.type].word}: ${this.store.describe(found.row)} · ${found.row.status}, ${Math.round(found.row.confidence * 100)} %`,
      );
    else if (found.person) parts.push(...this.#describePerson(found.person, frame));
    else if (found.lane) parts.push(TYPES[found.lane.type].word);
    return parts.join("   ");
  }

  #describePerson(person, frame) {
    const name = this.store.personName(person.id);
    const correction = this.store.correctionAt(person.id, frame);
    if (correction) {
      const whom = correction.kind === "person" ? this.store.personName(correction.target_person) : correction.kind;
      return [`${name} looks at ${whom} (set by hand)`];
    }
    if (!this.ribbon) return [name];
    const { code, filled, velocity } = this.ribbon.lane(this.store, person.id).at(frame);
    const lane = laneOfCode(code);
    const target = lane >= 0 ? this.store.personName(this.store.people[lane].id) : KIND_WORDS[code];
    const looks = code ? `${name} → ${target}${filled ? " (filled by rule)" : ""}` : `${name}: no estimate`;
    return Number.isNaN(velocity) ? [looks] : [looks, `moves ${velocity.toFixed(2)}`];
  }
}

function fit(canvas, width, height, ratio) {
  canvas.width = Math.max(1, Math.round(width * ratio));
  canvas.height = Math.max(1, Math.round(height * ratio));
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}

/** Which edge of a bar a point is on: "start", "end" or null for the body. Small bars have edges outside only. */
function edgeOf(x, left, right, selected) {
  const inside = right - left >= 18 ? EDGE_PX : selected ? 0 : -1;
  if (x <= left + inside && x >= left - EDGE_PX) return "start";
  if (x >= right - inside && x <= right + EDGE_PX) return "end";
  return null;
}
