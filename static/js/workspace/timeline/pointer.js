// Hands on the timeline, by pointer events: mouse, touchpad, pen and finger alike.
//
// Ruler: drag scrubs. A bar: click selects, an edge trims, the body moves. An empty event lane: drag creates. A person's
// lane: drag marks a span. Shift+drag: lasso. Alt: no snapping. Esc: the drag never was. Double-click: zoom to the thing.

import { clamp } from "../dom.js";
import { BAR, barSpan } from "./bars.js";
import { LANE } from "./people.js";
import { snap, snapFrames } from "./snap.js";

const SLOP_PX = 4; // less is a click
const CURSORS = { start: "w-resize", end: "e-resize" };

export class Pointer {
  #drag = null;
  #fingers = new Map();
  #pinch = null;

  constructor(timeline) {
    this.timeline = timeline;
    const { top } = timeline;
    top.addEventListener("pointerdown", (event) => this.#down(event));
    top.addEventListener("pointermove", (event) => this.#move(event));
    top.addEventListener("pointerup", (event) => this.#up(event));
    top.addEventListener("pointercancel", (event) => this.#leave(event, true));
    top.addEventListener("pointerleave", () => this.#hover(null));
    top.addEventListener("dblclick", (event) => this.#double(event));
    top.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    top.addEventListener("contextmenu", (event) => event.preventDefault());
  }

  /** End the drag as if it never was. True when there was one. */
  cancel() {
    if (!this.#drag) return false;
    this.#drag.cancel?.();
    this.#end();
    return true;
  }

  #end() {
    this.#drag = null;
    this.timeline.ghost = null;
    this.timeline.redrawTop();
  }

  // ---- Events ----

  #down(event) {
    const { timeline } = this;
    timeline.top.setPointerCapture(event.pointerId);
    timeline.top.focus({ preventScroll: true });
    this.#fingers.set(event.pointerId, event.offsetX);
    if (this.#fingers.size === 2) return this.#startPinch();
    if (event.button === 1) this.#drag = this.#pan(event);
    else if (event.button === 0) {
      const found = timeline.locate(event.offsetX, event.offsetY);
      this.#drag = this.#begin(found, event);
      this.#drag.from = { x: event.offsetX, y: event.offsetY };
      if (this.#drag.atOnce) this.#drag.move(event);
    }
    event.preventDefault();
  }

  #move(event) {
    if (this.#fingers.has(event.pointerId)) this.#fingers.set(event.pointerId, event.offsetX);
    if (this.#pinch) return this.#movePinch();
    if (!this.#drag) return this.#hover(this.timeline.locate(event.offsetX, event.offsetY));
    const drag = this.#drag;
    if (!drag.moved) {
      const far = Math.hypot(event.offsetX - drag.from.x, event.offsetY - drag.from.y);
      if (far < SLOP_PX && !drag.atOnce) return;
      drag.moved = true;
    }
    drag.move(event);
    this.timeline.redrawTop();
  }

  #up(event) {
    const drag = this.#drag;
    this.#leave(event, false);
    if (!drag) return;
    if (drag.moved) drag.done?.(event);
    else drag.click?.(event);
    this.timeline.redrawTop();
  }

  #leave(event, cancelled) {
    this.#fingers.delete(event.pointerId);
    if (this.#fingers.size < 2) this.#pinch = null;
    if (cancelled) this.cancel();
    else this.#end();
  }

  #double(event) {
    const found = this.timeline.locate(event.offsetX, event.offsetY);
    const { actions, window, store } = this.timeline;
    if (found.row) window.show(found.row.start, found.row.end, 1);
    else if (found.pane === "ruler") window.show(...store.shotAt(Math.floor(found.frame)), 0.02);
    else if (found.person) actions.zoomToPerson(found.person.id);
  }

  #wheel(event) {
    const { window } = this.timeline;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? window.width : 1;
    if (event.ctrlKey || event.metaKey) {
      window.zoom(Math.exp(-clamp(event.deltaY * unit, -120, 120) / 240), event.offsetX);
      return;
    }
    const pane = this.timeline.paneAt(event.offsetY);
    if (event.shiftKey && !event.deltaX && (pane === "people" || pane === "events"))
      this.timeline.scrollPane(pane, event.deltaY * unit);
    else window.scroll((event.deltaX || event.deltaY) * unit);
  }

  #hover(found) {
    const { timeline } = this;
    timeline.hover = found;
    timeline.readout.textContent = found ? timeline.describe(found) : "";
    if (found) timeline.top.style.cursor = cursorOf(found, timeline.store.may("annotate"));
    timeline.redrawTop();
  }

  // ---- Two fingers ----

  #startPinch() {
    this.cancel();
    const [a, b] = this.#fingers.values();
    this.#pinch = { apart: Math.abs(a - b), middle: (a + b) / 2 };
  }

  #movePinch() {
    const { window } = this.timeline;
    const [a, b] = this.#fingers.values();
    const apart = Math.max(8, Math.abs(a - b));
    const middle = (a + b) / 2;
    window.scroll(this.#pinch.middle - middle);
    window.zoom(apart / this.#pinch.apart, middle);
    this.#pinch = { apart, middle };
  }

  // ---- What a press begins ----

  #begin(found, event) {
    const { store } = this.timeline;
    const mayEdit = store.may("annotate");
    if (found.pane === "ruler" || found.pane === "wave") return this.#scrub();
    if (event.shiftKey && found.pane === "events") return this.#lasso(event);
    if (found.row && mayEdit) return this.#change(found, event);
    if (found.row) return { click: () => this.#select(found, event), move() {} };
    if (found.lane && mayEdit) return this.#create(found);
    return this.#mark(found);
  }

  #scrub() {
    const { player, window } = this.timeline;
    const go = (event) => player.seek(Math.floor(window.frame(event.offsetX)));
    return { atOnce: true, move: go, done() {}, click: go };
  }

  #pan(event) {
    const { window } = this.timeline;
    let last = event.offsetX;
    return {
      from: { x: event.offsetX, y: event.offsetY },
      atOnce: true,
      move(next) {
        window.scroll(last - next.offsetX);
        last = next.offsetX;
      },
    };
  }

  #select(found, event) {
    const { store, actions } = this.timeline;
    const many = event.ctrlKey || event.metaKey;
    if (found.kind === "draft") return;
    if (found.kind !== "event") {
      store.select(found.kind, [found.row.id]);
      return;
    }
    if (many && store.selection.kind === "event") {
      const ids = store.selection.ids;
      store.select(
        "event",
        ids.includes(found.row.id) ? ids.filter((id) => id !== found.row.id) : [...ids, found.row.id],
      );
    } else actions.selectEvent(found.row.id);
  }

  /** Trim or move an event, a correction, coverage or the draft. */
  #change(found) {
    const { timeline } = this;
    const { window, store, actions } = timeline;
    const { row, kind, edge } = found;
    const [low, high] = kind === "coverage" ? [0, store.times.frames] : store.shotAt(row.start);
    const frames = snapFrames(timeline, row);
    const length = row.end - row.start;
    const grip = found.frame - row.start;
    let span = null;
    return {
      click: (event) => this.#select(found, event),
      move(event) {
        const at = window.frame(event.offsetX);
        let start = row.start;
        let end = row.end;
        let hit;
        if (edge === "start") {
          hit = snap(at, frames, window, event.altKey);
          start = clamp(hit.frame, low, end - 1);
        } else if (edge === "end") {
          hit = snap(at, frames, window, event.altKey);
          end = clamp(hit.frame, start + 1, high);
        } else {
          hit = snap(at - grip, frames, window, event.altKey);
          if (hit.snapped === null) {
            const tail = snap(at - grip + length, frames, window, event.altKey);
            if (tail.snapped !== null) hit = { frame: tail.frame - length, snapped: tail.snapped };
          }
          start = clamp(hit.frame, low, high - length);
          end = start + length;
        }
        span = [start, end];
        timeline.ghost = { span, snap: hit.snapped, ...ghostBox(timeline, found) };
      },
      done() {
        if (span && (span[0] !== row.start || span[1] !== row.end)) actions.setSpan(kind, row, ...span);
      },
    };
  }

  /** Drag on an empty event lane: a draft of that type. */
  #create(found) {
    const { timeline } = this;
    const { window, store, actions, player } = timeline;
    const frames = snapFrames(timeline, null);
    const anchor = Math.floor(found.frame);
    const [low, high] = store.shotAt(anchor);
    let span = null;
    return {
      click() {
        store.select(null);
        player.seek(anchor);
      },
      move(event) {
        const first = snap(found.frame, frames, window, event.altKey);
        const last = snap(window.frame(event.offsetX), frames, window, event.altKey);
        const [a, b] = [clamp(first.frame, low, high), clamp(last.frame, low, high)];
        span = [Math.min(a, b), Math.max(a, b, Math.min(a, b) + 1)];
        timeline.ghost = { span, snap: last.snapped, y: timeline.yOf("events", found.lane.y + 2) };
      },
      done() {
        if (span) actions.draft(found.lane.type, ...span);
      },
    };
  }

  /** Drag on a person's lane or the empty rest: mark a span. */
  #mark(found) {
    const { timeline } = this;
    const { window, store, actions, player } = timeline;
    const frames = snapFrames(timeline, null);
    let span = null;
    return {
      click() {
        if (found.person) actions.selectPerson(found.person.id);
        else store.select(null);
        player.seek(Math.floor(found.frame));
      },
      move(event) {
        const a = snap(found.frame, frames, window, event.altKey).frame;
        const b = snap(window.frame(event.offsetX), frames, window, event.altKey).frame;
        span = [
          clamp(Math.min(a, b), 0, store.times.frames - 1),
          clamp(Math.max(a, b, Math.min(a, b) + 1), 1, store.times.frames),
        ];
        const row = found.person ? timeline.rows.people.indexOf(found.person) : -1;
        const y = row >= 0 ? timeline.yOf("people", 2 + row * LANE) : timeline.yOf("events", timeline.rows.cover.y);
        timeline.ghost = { span, y, height: row >= 0 ? LANE - 4 : 12 };
      },
      done() {
        if (!span) return;
        store.setSpan(...span);
        if (found.person) actions.selectPerson(found.person.id);
      },
    };
  }

  #lasso(first) {
    const { timeline } = this;
    const { window, store } = timeline;
    let box = null;
    return {
      click: (event) => this.#select(timeline.locate(event.offsetX, event.offsetY), event),
      move(event) {
        const [x0, x1] = [first.offsetX, event.offsetX].sort((a, b) => a - b);
        const [y0, y1] = [first.offsetY, event.offsetY].sort((a, b) => a - b);
        box = { x0, y0, x1, y1 };
        timeline.ghost = { lasso: box };
      },
      done() {
        if (!box) return;
        const ids = [];
        for (const lane of timeline.rows.lanes)
          for (const event of store.inView(lane.type, window.frame(box.x0), window.frame(box.x1))) {
            const y = timeline.barTop(event, lane);
            const [left, right] = barSpan(window, event);
            if (event !== store.draft && y < box.y1 && y + BAR > box.y0 && left < box.x1 && right > box.x0)
              ids.push(event.id);
          }
        store.select("event", ids);
      },
    };
  }
}

function cursorOf(found, mayEdit) {
  if (found.pane === "ruler" || found.pane === "wave") return "col-resize";
  if (!found.row) return found.lane && mayEdit ? "crosshair" : "default";
  return mayEdit ? (CURSORS[found.edge] ?? "pointer") : "pointer";
}

/** Where the ghost of a thing is drawn. */
function ghostBox(timeline, { kind, row, lane, person }) {
  if (kind === "event" || kind === "draft") return { y: timeline.barTop(row, lane) };
  if (kind === "coverage") return { y: timeline.yOf("events", timeline.rows.cover.y), height: 12 };
  return { y: timeline.yOf("people", 3 + timeline.rows.people.indexOf(person) * LANE), height: 14 };
}
