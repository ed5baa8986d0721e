// What is drawn over the picture: boxes, names, gaze rays and targets, for the frame that is shown. And hands on it:
// a click selects a person, Shift+click takes them into the event, dragging from a selected person's face or gaze point
// says where they look.

import { h } from "./dom.js";
import { drawGesture } from "./gesture-marks.js";
import { gazeMethod, sampleMethod } from "./method.js";
import { KIND, KIND_WORDS, TYPES } from "./vocabulary.js";

const HANDLE_PX = 11;

export class Overlay {
  #people = []; // what was drawn last: {person, record, box: [x0, y0, x1, y1] px, handle: [x, y] | null}
  #drag = null;
  #seen = null; // {frame, by}: records of the sample that masks are moved from

  constructor({ canvas, stage, store, player, palette, glyphs, actions }) {
    Object.assign(this, { canvas, stage, store, player, palette, glyphs, actions });
    this.samples = null;
    this.detailsOf = null; // (event) => what is known behind a proposal, or null
    this.masks = null; // see masks.js
    this.shows = { boxes: true, names: true, gaze: true, faces: false, masks: false };
    this.legend = store.run ? this.#makeLegend(store.run) : null;
    new ResizeObserver(() => this.resize()).observe(stage);
    player.on("shown", () => this.draw());
    for (const topic of ["rows", "selection"]) store.on(topic, () => this.redraw());
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    canvas.addEventListener("pointerup", (event) => this.#up(event));
    canvas.addEventListener("pointercancel", () => this.cancel());
  }

  /** Says what kind of gaze is drawn, wherever it is. */
  #makeLegend(run) {
    const { short, long } = gazeMethod(run);
    const legend = h("p", { class: "stage-legend", title: long, data: { gaze: `Gaze: ${short}` } });
    this.stage.append(legend);
    return legend;
  }

  /** Show or hide a layer; its button says which. */
  toggle(layer, shown = !this.shows[layer]) {
    this.shows[layer] = shown;
    document.querySelector(`[data-shows=${layer}]`)?.setAttribute("aria-pressed", String(shown));
    this.draw();
  }

  redraw() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.draw();
    });
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.stage;
    const { width: w, height: h } = this.store.video;
    const scale = w && h ? Math.min(width / w, height / h) : 1;
    this.rect = { x: (width - w * scale) / 2, y: (height - h * scale) / 2, width: w * scale, height: h * scale };
    this.ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(width * this.ratio);
    this.canvas.height = Math.round(height * this.ratio);
    this.draw();
  }

  #x(value) {
    return this.rect.x + value * this.rect.width;
  }

  #y(value) {
    return this.rect.y + value * this.rect.height;
  }

  #box([x0, y0, x1, y1]) {
    return [this.#x(x0), this.#y(y0), this.#x(x1), this.#y(y1)];
  }

  // ---- Drawing ----

  draw() {
    if (!this.rect) return;
    this.#drawLegend();
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const frame = this.player.shown;
    const records = frame >= 0 ? this.samples?.at(frame) : null;
    this.#people = [];
    this.#seen = null;
    if (!records) return;
    for (const record of records) {
      const id = this.store.personOf(record.track, frame);
      const person = id && this.store.person(id);
      if (person)
        this.#people.push({ id, person, record, box: this.#box(record.body), gaze: this.#gazeOf(id, record, frame) });
    }
    const event = this.store.draft ?? this.store.selectedEvent;
    const live =
      event && event.start <= frame && frame < event.end
        ? new Set(event.participants.map(([id]) => this.store.rootOf(id)))
        : null;
    this.#people.sort((a, b) => this.#rank(a) - this.#rank(b));
    if (this.shows.masks && this.masks) for (const one of this.#people) this.#drawMask(pen, one, frame);
    for (const one of this.#people) this.#drawPerson(pen, one, live);
    if (this.shows.gaze) for (const one of this.#people) this.#drawGaze(pen, one, live);
    if (this.shows.names) this.#drawNames(pen, live);
    if (live) this.#drawGestureOf(pen, event);
    if (this.#drag?.at) this.#drawDrag(pen);
  }

  #drawLegend() {
    if (!this.legend) return;
    const masks = this.shows.masks && this.masks?.made;
    const words = [this.shows.gaze && this.legend.dataset.gaze, masks && "Masks: approximate"].filter(Boolean);
    if (this.legend.textContent !== words.join(", ")) this.legend.textContent = words.join(", ");
    this.legend.hidden = !words.length;
  }

  /** The mask at the last sample, moved with the box between two. */
  #drawMask(pen, { person, record }, frame) {
    const reach = Math.max(1, frame - this.#sampleBefore(frame));
    const mask = this.masks.at(record.track, frame, reach);
    if (!mask) return;
    const then = mask.frame === frame ? record : this.#seenAt(mask.frame).get(record.track);
    if (!then) return;
    this.masks.draw(pen, mask, {
      colour: this.palette.ofPerson(person),
      rect: this.rect,
      body: record.body,
      then: then.body,
      exact: mask.frame === frame,
    });
  }

  /** Everybody by track at a frame; people share the sample, so the last answer is kept. */
  #seenAt(frame) {
    if (this.#seen?.frame !== frame) {
      const records = this.samples.at(frame) ?? [];
      this.#seen = { frame, by: new Map(records.map((one) => [one.track, one])) };
    }
    return this.#seen.by;
  }

  /** The frame one and a half steps of the samples before another. */
  #sampleBefore(frame) {
    const { times } = this.store;
    return times.frameAt(Math.max(0, times.zeroed(frame) - 1.5 * this.samples.gazeStep));
  }

  /** Where the initiator is and what the hand is about, by the numbers kept with the proposal. */
  #drawGestureOf(pen, event) {
    const details = TYPES[event.type].modality === "gesture" ? this.detailsOf?.(event) : null;
    if (!details) return;
    const initiator = event.participants.find(([, role]) => role === "initiator");
    const colour = this.palette.ofPerson(initiator && this.store.person(initiator[0]));
    drawGesture(pen, details, { x: (v) => this.#x(v), y: (v) => this.#y(v), colour, font: this.palette.font });
  }

  /** Selected people are drawn last, on top. */
  #rank({ id }) {
    return this.store.isSelected("person", id) ? 1 : 0;
  }

  /** Where a person looks at a frame: by a human's word, else as estimated. */
  #gazeOf(id, record, frame) {
    const face = record.face ?? [
      record.body[0],
      record.body[1],
      record.body[2],
      record.body[1] + 0.25 * (record.body[3] - record.body[1]),
    ];
    const eye = record.eye ?? [(face[0] + face[2]) / 2, face[1] + 0.4 * (face[3] - face[1])];
    const said = this.store.correctionAt(id, frame);
    if (said) {
      const kind = said.kind === "point" ? KIND.scene : KIND[said.kind];
      const point = said.x === null || said.x === undefined ? null : [said.x, said.y];
      return {
        kind,
        eye,
        point,
        target: said.target_person ? this.store.rootOf(said.target_person) : null,
        human: true,
      };
    }
    const target = record.target === null ? null : this.store.personOf(record.target, frame);
    return { kind: record.kind, eye, point: record.gaze, target, human: false, between: record.gazeFrame !== frame };
  }

  #drawPerson(pen, one, live) {
    const { id, person, record, box } = one;
    const [x0, y0, x1, y1] = box;
    const colour = this.palette.ofPerson(person);
    const selected = this.store.isSelected("person", id);
    const dimmed = live && !live.has(id);
    if (this.shows.boxes || selected) {
      pen.globalAlpha = dimmed ? 0.45 : 1;
      // a thin dark rim keeps the box readable on any picture
      pen.lineWidth = selected || live?.has(id) ? 4.5 : 3.5;
      pen.strokeStyle = "rgb(0 0 0 / 45%)";
      this.#strokeBox(pen, box, record.between);
      pen.lineWidth = selected || live?.has(id) ? 2.5 : 1.5;
      pen.strokeStyle = colour;
      this.#strokeBox(pen, box, record.between);
      if (selected) {
        pen.fillStyle = colour;
        pen.globalAlpha = 0.08;
        pen.fillRect(x0, y0, x1 - x0, y1 - y0);
      }
    }
    if (this.shows.faces && record.face) {
      pen.lineWidth = 1;
      pen.strokeStyle = colour;
      pen.globalAlpha = dimmed ? 0.4 : 0.9;
      const [a, b, c, d] = this.#box(record.face);
      pen.strokeRect(a, b, c - a, d - b);
    }
    pen.globalAlpha = 1;
  }

  /** Whole for a sample, only the corners between two samples. */
  #strokeBox(pen, [x0, y0, x1, y1], between) {
    pen.beginPath();
    if (!between) pen.roundRect(x0, y0, x1 - x0, y1 - y0, 3);
    else {
      const a = Math.min(18, (x1 - x0) / 4);
      const b = Math.min(18, (y1 - y0) / 4);
      for (const [x, y, sx, sy] of [
        [x0, y0, 1, 1],
        [x1, y0, -1, 1],
        [x1, y1, -1, -1],
        [x0, y1, 1, -1],
      ]) {
        pen.moveTo(x + sx * a, y);
        pen.lineTo(x, y);
        pen.lineTo(x, y + sy * b);
      }
    }
    pen.stroke();
  }

  #drawGaze(pen, one, live) {
    const { id, gaze, person } = one;
    one.handle = null;
    if (!gaze.kind) return;
    const colour = this.palette.ofPerson(person);
    const eye = [this.#x(gaze.eye[0]), this.#y(gaze.eye[1])];
    pen.globalAlpha = live && !live.has(id) ? 0.3 : gaze.between && !gaze.human ? 0.75 : 1;
    const end = this.#gazeEnd(gaze);
    if (end) {
      this.#ray(pen, eye, end, colour, gaze);
      one.handle = end;
      if (gaze.target) this.#ringTarget(pen, gaze.target, colour);
    } else this.#noPoint(pen, eye, colour, gaze, one, !live || live.has(id));
    if (this.store.isSelected("person", id) && one.handle) this.#drawHandle(pen, one.handle, colour);
    pen.globalAlpha = 1;
  }

  #gazeEnd(gaze) {
    if (gaze.kind === KIND.person && gaze.target && (gaze.human || !gaze.point)) {
      const other = this.#people.find((one) => one.id === gaze.target);
      if (other) return [this.#x(other.gaze.eye[0]), this.#y(other.gaze.eye[1])];
    }
    if (!gaze.point || gaze.kind === KIND.camera || gaze.kind === KIND.off || gaze.kind === KIND.unusable) return null;
    return [this.#x(gaze.point[0]), this.#y(gaze.point[1])];
  }

  #ray(pen, [x0, y0], [x1, y1], colour, gaze) {
    for (const [stroke, width] of [
      ["rgb(0 0 0 / 40%)", 4],
      [colour, 2],
    ]) {
      pen.strokeStyle = stroke;
      pen.lineWidth = width;
      pen.setLineDash(gaze.human ? [] : gaze.kind === KIND.person ? [] : [6, 4]);
      pen.beginPath();
      pen.moveTo(x0, y0);
      pen.lineTo(x1, y1);
      pen.stroke();
    }
    pen.setLineDash([]);
    pen.fillStyle = colour;
    pen.strokeStyle = "rgb(0 0 0 / 55%)";
    pen.lineWidth = 1;
    pen.beginPath();
    pen.arc(x0, y0, 3, 0, 7);
    pen.fill();
    pen.beginPath();
    if (gaze.kind === KIND.object) pen.rect(x1 - 5, y1 - 5, 10, 10);
    else pen.arc(x1, y1, 5, 0, 7);
    pen.fill();
    pen.stroke();
    if (gaze.human) {
      pen.strokeStyle = "#fff";
      pen.lineWidth = 1.5;
      pen.stroke();
    }
  }

  #ringTarget(pen, target, colour) {
    const other = this.#people.find((one) => one.id === target);
    if (!other?.record.face) return;
    const [a, b, c, d] = this.#box(other.record.face);
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.setLineDash([3, 3]);
    pen.beginPath();
    pen.ellipse((a + c) / 2, (b + d) / 2, (c - a) / 2 + 5, (d - b) / 2 + 5, 0, 0, 7);
    pen.stroke();
    pen.setLineDash([]);
  }

  /** Camera, off screen and unusable have no point in the picture: a sign beside the eyes. */
  #noPoint(pen, [x, y], colour, gaze, one, named) {
    const word = {
      [KIND.camera]: "camera",
      [KIND.off]: "off screen",
      [KIND.unusable]: "unusable",
      [KIND.person]: "person",
      [KIND.object]: "object",
      [KIND.scene]: "",
    }[gaze.kind];
    pen.fillStyle = colour;
    pen.beginPath();
    pen.arc(x, y, 4, 0, 7);
    pen.fill();
    pen.strokeStyle = gaze.human ? "#fff" : colour;
    pen.lineWidth = 1.5;
    pen.beginPath();
    pen.arc(x, y, 8, 0, 7);
    pen.stroke();
    one.handle = [x, y];
    if (word && named) this.#tag(pen, word, x + 12, y - 8, "rgb(0 0 0 / 65%)", "#fff", 10);
  }

  #drawHandle(pen, [x, y], colour) {
    pen.strokeStyle = "#fff";
    pen.lineWidth = 3;
    pen.beginPath();
    pen.arc(x, y, HANDLE_PX - 2, 0, 7);
    pen.stroke();
    pen.strokeStyle = colour;
    pen.lineWidth = 1.5;
    pen.stroke();
  }

  /** Names above the boxes; one that would lie on another goes inside, or is left out. */
  #drawNames(pen, live) {
    const taken = [];
    const order = this.#people.toSorted(
      (a, b) => this.#rank(b) - this.#rank(a) || b.box[3] - b.box[1] - (a.box[3] - a.box[1]),
    );
    pen.font = `600 12px ${this.palette.font}`;
    for (const { id, person, box } of order) {
      const words = person.name ? `${person.number} ${person.name}` : `P${person.number}`;
      const width = pen.measureText(words).width + 10;
      for (const y of [box[1] - 19, box[1] + 3]) {
        const x = Math.max(this.rect.x, Math.min(box[0], this.rect.x + this.rect.width - width));
        const top = Math.max(this.rect.y + 1, y);
        if (taken.some((t) => x < t[0] + t[2] && x + width > t[0] && top < t[1] + 18 && top + 18 > t[1])) continue;
        taken.push([x, top, width]);
        pen.globalAlpha = live && !live.has(id) ? 0.55 : 1;
        this.#tag(pen, words, x, top, this.palette.ofPerson(person), "#fff", 12);
        pen.globalAlpha = 1;
        break;
      }
    }
  }

  #tag(pen, words, x, y, background, colour, size) {
    pen.font = `600 ${size}px ${this.palette.font}`;
    const width = pen.measureText(words).width + 10;
    const height = size + 5;
    pen.fillStyle = background;
    pen.beginPath();
    pen.roundRect(x, y, width, height, 3);
    pen.fill();
    pen.fillStyle = colour;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    pen.strokeStyle = "rgb(0 0 0 / 35%)";
    pen.lineWidth = 2;
    pen.lineJoin = "round";
    pen.strokeText(words, x + 5, y + height / 2 + 0.5);
    pen.fillText(words, x + 5, y + height / 2 + 0.5);
  }

  #drawDrag(pen) {
    const { one, at, target } = this.#drag;
    const eye = [this.#x(one.gaze.eye[0]), this.#y(one.gaze.eye[1])];
    this.#ray(pen, eye, at, this.palette.ofPerson(one.person), {
      kind: target ? KIND.person : KIND.scene,
      human: true,
    });
    if (target) {
      const [a, b, c, d] = target.box;
      pen.strokeStyle = "#fff";
      pen.lineWidth = 2;
      pen.strokeRect(a - 2, b - 2, c - a + 4, d - b + 4);
    }
  }

  // ---- Hands ----

  #personAt(x, y, except = null) {
    let best = null;
    for (const one of this.#people) {
      const [x0, y0, x1, y1] = one.box;
      if (one === except || x < x0 || x > x1 || y < y0 || y > y1) continue;
      const area = (x1 - x0) * (y1 - y0);
      if (!best || area < best.area) best = { one, area };
    }
    return best?.one ?? null;
  }

  #grabbed(x, y) {
    return this.#people.find(
      (one) =>
        this.store.isSelected("person", one.id) &&
        one.handle &&
        Math.hypot(one.handle[0] - x, one.handle[1] - y) <= HANDLE_PX,
    );
  }

  /** A person and where they look, in words. */
  #told({ id, gaze, record }) {
    const name = this.store.personName(id);
    if (!gaze.kind) return name;
    const whom = gaze.kind === KIND.person && gaze.target ? this.store.personName(gaze.target) : KIND_WORDS[gaze.kind];
    return `${name}: ${whom} (${gaze.human ? "set by hand" : sampleMethod(this.store.run, record)})`;
  }

  #down(event) {
    if (event.button !== 0) return;
    const { offsetX: x, offsetY: y } = event;
    const found = this.#grabbed(x, y) ?? this.#personAt(x, y);
    if (!found) return this.store.select(null);
    const mayDrag = this.store.isSelected("person", found.id) && this.store.may("annotate") && !this.player.playing;
    this.#drag = { one: found, from: [x, y], at: null, mayDrag, shift: event.shiftKey };
    this.canvas.setPointerCapture(event.pointerId);
  }

  #move(event) {
    const { offsetX: x, offsetY: y } = event;
    const drag = this.#drag;
    if (!drag) {
      const one = this.#personAt(x, y);
      this.canvas.style.cursor = this.#grabbed(x, y) ? "grab" : one ? "pointer" : "default";
      this.canvas.title = one ? this.#told(one) : "";
      return;
    }
    if (!drag.mayDrag || (!drag.at && Math.hypot(x - drag.from[0], y - drag.from[1]) < 6)) return;
    drag.at = [x, y];
    drag.target = event.altKey ? null : this.#personAt(x, y, drag.one);
    this.draw();
  }

  #up(event) {
    const drag = this.#drag;
    this.#drag = null;
    if (!drag) return;
    if (drag.at) this.#drop(drag);
    else if (drag.shift || event.shiftKey) this.actions.personKey(drag.one.id);
    else this.actions.selectPerson(drag.one.id);
    this.draw();
  }

  #drop({ one, at, target }) {
    if (target) return this.actions.gaze.correct(one.id, { kind: "person", target_person: target.id });
    const x = (at[0] - this.rect.x) / this.rect.width;
    const y = (at[1] - this.rect.y) / this.rect.height;
    if (x < 0 || x > 1 || y < 0 || y > 1) return this.actions.gaze.correct(one.id, { kind: "off" });
    return this.actions.gaze.correct(one.id, { kind: "point", x: Number(x.toFixed(4)), y: Number(y.toFixed(4)) });
  }

  /** Esc during a drag. True when there was one. */
  cancel() {
    if (!this.#drag) return false;
    this.#drag = null;
    this.draw();
    return true;
  }
}
