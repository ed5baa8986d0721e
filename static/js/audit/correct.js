/**
 * Correcting the masks of the claim in focus: brush and polygon, add or take away, accept, delete, onward to other frames,
 * undo and redo. Every stroke is a step of its own and is saved when the pointer comes up.
 */

import { Topics, clamp, uuid } from "../workspace/dom.js";
import { encode } from "../masks/rle.js";
import { polygon, sweep } from "./bitmap.js";
import { keyOf } from "./masks.js";
import { tint } from "./paint.js";
import { plural } from "./words.js";

const RADII = [1, 2, 3, 5, 8, 12, 18, 27, 40]; // of the brush, where masks are 320 pixels wide
const REACH = 8; // looked-at frames on either side that a corrected mask is carried to
const CLOSE_PX = 9; // how near its first corner a click closes a polygon

export class Corrector {
  #stroke = null; // bits while the pointer is down
  #last = null; // where the stroke was last, in mask pixels
  #path = []; // corners of the polygon on its way
  #done = []; // steps of this page, [{id, claim, changes: [{query, object, frame, before, after}], label}]
  #undone = [];

  constructor({ store, cache, player, queue, palette, say, overlay }) {
    this.topics = new Topics(); // change
    Object.assign(this, { store, cache, player, queue, palette, say, overlay });
    Object.assign(this, { tool: "brush", adding: true, size: 4, query: null, object: 1, cursor: null });
    store.on("focus", () => this.#aim());
    player.on("frame", () => this.#letGo());
  }

  get on() {
    return this.store.mode === "correct";
  }

  get masks() {
    return this.store.claim && this.cache.of(this.store.claim);
  }

  get radius() {
    return (RADII[this.size] * (this.masks?.size[1] ?? 320)) / 320;
  }

  toggle(on = !this.on) {
    if (on === this.on) return;
    if (on && !this.store.mayRate)
      return void this.say("Take this response first: then its masks can be corrected.", "error");
    if (on && !this.#queries().length)
      return void this.say("Nothing was looked for in this claim, so it has no masks to correct.");
    this.store.mode = on ? "correct" : "judge";
    this.#letGo();
    if (on) {
      this.#aim();
      this.player.pause();
      const frame = this.overlay.standing(this.player.frame);
      if (frame !== null && frame !== this.player.frame) this.player.seek(frame);
      this.store.show({ masks: true, control: false });
    }
    this.#changed();
  }

  #queries() {
    return (this.store.claim?.queries ?? []).filter(
      ({ role }) => role === "phrase" || role === "person" || role === "category",
    );
  }

  /** The query and object that strokes belong to: the claim's first with a mask. */
  #aim() {
    this.#letGo();
    const queries = this.#queries();
    const query = queries.find(({ frames }) => frames.length) ?? queries[0];
    this.query = query?.id ?? null;
    this.object = this.masks?.objects(this.query)[0] ?? 1;
    if (this.on && !this.query) this.store.mode = "judge";
    this.#changed();
  }

  #changed() {
    this.topics.emit("change");
    this.overlay.redraw();
  }

  #letGo() {
    this.#stroke = this.#last = null;
    this.#path = [];
  }

  // ---- What is chosen ----

  choose(changes) {
    Object.assign(this, changes);
    this.#letGo();
    this.#changed();
  }

  resize(step) {
    this.choose({ size: clamp(this.size + step, 0, RADII.length - 1) });
  }

  nextObject() {
    const all = this.#queries().flatMap((query) =>
      (this.masks?.objects(query.id) ?? []).map((object) => [query.id, object]),
    );
    if (!all.length) return;
    const at = all.findIndex(([query, object]) => query === this.query && object === this.object);
    const [query, object] = all[(at + 1) % all.length];
    this.choose({ query, object });
  }

  newObject() {
    const known = this.masks?.objects(this.query) ?? [];
    this.choose({ object: Math.max(0, ...known) + 1 });
  }

  // ---- Steps ----

  #blank = null;

  #row() {
    return this.masks?.row(this.query, this.object, this.player.frame) ?? null;
  }

  #bits() {
    const { masks } = this;
    const row = this.#row();
    if (row && row.kind === "mask") return masks.bitsOf(row);
    const [height, width] = masks.size;
    if (this.#blank?.length !== height * width) this.#blank = new Uint8Array(height * width);
    return this.#blank;
  }

  /** Save what a tool made of this frame's mask. */
  #draw(bits, kind) {
    const before = this.#bits();
    if (before.every((bit, i) => bit === bits[i])) return;
    const { size } = this.masks;
    const filled = bits.some((bit) => bit);
    const edit = filled ? { action: "draw", size, counts: encode(bits, size) } : { action: "delete", size, counts: "" };
    this.#commit([{ frame: this.player.frame, ...edit }], kind, filled ? "a mask" : "no mask");
  }

  #commit(edits, kind, label) {
    const { claim } = this.store;
    const { masks, query, object } = this;
    const whole = edits.map((edit) => ({
      query,
      object,
      origin: kind === "delete" || kind === "accept" ? "key" : kind,
      ...edit,
    }));
    const changes = whole.map((edit) => ({
      ...edit,
      before: masks.edit(query, object, edit.frame) ?? null,
      after: edit,
    }));
    this.#send(claim, kind, changes, `Claim ${this.store.at + 1}: ${label} on frame ${edits[0].frame}`);
    this.#undone = [];
  }

  #send(claim, kind, changes, label) {
    const edits = changes.map(({ after }) => ({ id: uuid(), version: null, ...pick(after) }));
    const { id } = this.queue.put({
      row: `masks ${claim.id}`,
      path: `/audit/claims/${claim.id}/masks`,
      body: { kind, edits },
      label,
      about: claim.id,
      apply: changes.map(({ query, object, frame, after }) => ({ query, object, frame, edit: after })),
    });
    this.#done.push({ id, claim: claim.id, kind, changes, label });
    this.cache.corrected(claim);
    this.#changed();
  }

  accept() {
    if (!this.#row()) return this.say("There is no mask on this frame to accept.");
    this.#commit(
      [{ frame: this.player.frame, action: "accept", size: this.masks.size, counts: "" }],
      "accept",
      "accepted",
    );
    return this.say("Accepted as it is.");
  }

  remove() {
    if (!this.#row()) return this.say("There is no mask on this frame to delete.");
    return this.#commit(
      [{ frame: this.player.frame, action: "delete", size: this.masks.size, counts: "" }],
      "delete",
      "deleted",
    );
  }

  /** Carry this object's corrected masks to the looked-at frames around: up to the next corrected one on either side. */
  carry() {
    const { claim } = this.store;
    const { masks, query, object, player } = this;
    if (masks.edit(query, object, player.frame)?.action !== "draw")
      return this.say("Correct the mask on this frame first: it is what the others are made from.");
    const frames = this.#around(claim, player.frame);
    if (!frames.length) return this.say("There is no frame beside this one that could take it.");
    const { id } = this.queue.put({
      row: `masks ${claim.id}`,
      path: `/audit/claims/${claim.id}/masks/propagate`,
      body: { query, object, frames, by: "shapes" },
      label: `Claim ${this.store.at + 1}: carried to ${plural(frames.length, "frame")}`,
      about: claim.id,
    });
    this.#done.push({ id, claim: claim.id, changes: [], label: "carried" });
    return this.say(`Carried to ${plural(frames.length, "frame")}: look at them, they are made by shape.`);
  }

  #around({ place }, frame) {
    const { masks, query, object } = this;
    const drawn = (one) => {
      const edit = masks.edit(query, object, one);
      return edit && edit.origin !== "shapes";
    };
    const side = (frames) => {
      const stop = frames.findIndex(drawn);
      return stop === -1 ? frames.slice(0, REACH) : frames.slice(0, stop);
    };
    const looked = place?.frames ?? [];
    const before = looked.filter((one) => one < frame).reverse();
    return [...side(before), ...side(looked.filter((one) => one > frame))].sort((a, b) => a - b);
  }

  // ---- Undo ----

  get mayUndo() {
    const { claim } = this.store;
    return this.#done.some((step) => step.claim === claim?.id) || this.#earlier(claim).length > 0;
  }

  /** Ids of the steps that were there when the page opened: an undo names its step, so sent twice it undoes one. */
  #earlier(claim) {
    return this.store.task.undoable?.[claim?.id] ?? [];
  }

  get mayRedo() {
    return this.#undone.at(-1)?.claim === this.store.claim?.id;
  }

  undo() {
    const { claim } = this.store;
    if (!this.mayUndo) return this.say("Nothing to undo in this claim.");
    const at = this.#done.findLastIndex((step) => step.claim === claim.id);
    const step = at === -1 ? null : this.#done.splice(at, 1)[0];
    if (step?.changes.length) this.#undone.push(step);
    this.queue.put({
      row: `masks ${claim.id}`,
      path: `/audit/claims/${claim.id}/masks/undo`,
      body: { step: step?.id ?? this.#earlier(claim).pop() },
      label: `Claim ${this.store.at + 1}: undo`,
      about: claim.id,
      apply: step?.changes.map(({ query, object, frame, before }) => ({ query, object, frame, edit: before })) ?? null,
    });
    this.cache.corrected(claim);
    return this.#changed();
  }

  redo() {
    if (!this.mayRedo) return this.say("Nothing to redo.");
    const { kind, changes, label } = this.#undone.pop();
    return this.#send(this.store.claim, kind, changes, label);
  }

  // ---- Hands ----

  hand(event) {
    const { masks } = this;
    if (!masks) return;
    const at = this.overlay.place(event, masks.size);
    this.cursor = event.type === "pointerleave" ? null : at;
    if (event.type === "pointerdown" && event.button === 0) this.#down(event, at);
    else if (event.type === "pointermove" && this.#stroke) this.#move(at);
    else if (event.type === "pointerup" && this.#stroke) this.#up();
    else if (event.type === "pointercancel") this.#letGo();
    else if (event.type === "dblclick") this.closePath();
    this.overlay.redraw();
  }

  #down(event, at) {
    event.preventDefault();
    if (this.tool === "polygon") return this.#corner(at);
    this.overlay.canvas.setPointerCapture(event.pointerId);
    this.#value = this.adding !== (event.altKey || event.shiftKey) ? 1 : 0;
    this.#stroke = sweep(this.#bits(), this.masks.size, at, at, this.radius, this.#value);
    this.#last = at;
    return undefined;
  }
  #value = 1;

  #move(at) {
    this.#stroke = sweep(this.#stroke, this.masks.size, this.#last, at, this.radius, this.#value);
    this.#last = at;
  }

  #up() {
    const bits = this.#stroke;
    this.#letGo();
    this.#draw(bits, "brush");
  }

  #corner(at) {
    const { size } = this.masks;
    const [first] = this.#path;
    if (first && this.#path.length > 2) {
      const [a, b] = [this.overlay.shown(first, size), this.overlay.shown(at, size)];
      if (Math.hypot(a[0] - b[0], a[1] - b[1]) <= CLOSE_PX) return this.closePath();
    }
    const last = this.#path.at(-1);
    if (!last || Math.hypot(last[0] - at[0], last[1] - at[1]) > 0.5) this.#path.push(at);
    return undefined;
  }

  closePath() {
    const corners = this.#path;
    this.#path = [];
    if (corners.length < 3) return;
    this.#draw(polygon(this.#bits(), this.masks.size, corners, this.adding ? 1 : 0), "polygon");
  }

  /** By keyboard: move the brush, in steps of its size or of one pixel. */
  nudge(dx, dy, fine = false) {
    const [height, width] = this.masks?.size ?? [1, 1];
    const step = fine ? 1 : Math.max(1, this.radius);
    const [x, y] = this.cursor ?? [width / 2, height / 2];
    this.cursor = [clamp(x + dx * step, 0, width), clamp(y + dy * step, 0, height)];
    this.overlay.redraw();
  }

  /** By keyboard: a dab where the brush is, or a corner of the polygon. */
  dab() {
    const { cursor, masks } = this;
    if (!cursor || !masks) return this.nudge(0, 0);
    if (this.tool === "polygon") {
      this.#corner(cursor);
      return this.overlay.redraw();
    }
    return this.#draw(sweep(this.#bits(), masks.size, cursor, cursor, this.radius, this.adding ? 1 : 0), "brush");
  }

  /** Esc: the stroke or polygon on its way, else the mode. */
  cancel() {
    if (this.#stroke || this.#path.length) {
      this.#letGo();
      this.overlay.redraw();
    } else this.toggle(false);
  }

  // ---- Drawing ----

  /** What is worked on, painted anew only when it changes. */
  #picture() {
    const bits = this.#stroke ?? this.#bits();
    const fill = this.palette.warn;
    if (this.#painted?.bits !== bits || this.#painted.fill !== fill)
      this.#painted = { bits, fill, canvas: tint(bits, this.masks.size, { fill, alpha: 0.35 }) };
    return this.#painted.canvas;
  }
  #painted = null;

  draw(pen, overlay) {
    const { masks } = this;
    if (!this.on || !masks) return;
    const { x, y, width, height } = overlay.rect;
    pen.drawImage(this.#picture(), x, y, width, height);
    const scale = width / masks.size[1];
    const colour = this.adding ? "#fff" : this.palette.danger;
    if (this.#path.length) {
      const corners = [...this.#path, ...(this.cursor ? [this.cursor] : [])].map((one) =>
        overlay.shown(one, masks.size),
      );
      trace(pen, corners, colour);
    }
    if (this.cursor && this.tool === "brush") {
      const [cx, cy] = overlay.shown(this.cursor, masks.size);
      ring(pen, cx, cy, Math.max(2, this.radius * scale), colour);
    }
  }
}

const pick = ({ query, object, frame, action, size, counts }) => ({ query, object, frame, action, size, counts });

/** Corrections as the page shows them: what is acknowledged, and over it what waits. */
export function editsShown(acknowledged, waiting) {
  const found = new Map(acknowledged.map((edit) => [keyOf(edit.query, edit.object, edit.frame), edit]));
  for (const { apply } of waiting)
    for (const { query, object, frame, edit } of apply ?? []) {
      const key = keyOf(query, object, frame);
      if (edit) found.set(key, edit);
      else found.delete(key);
    }
  return [...found.values()];
}

function trace(pen, corners, colour) {
  for (const [wide, stroke] of [
    [3.5, "rgb(0 0 0 / 55%)"],
    [1.5, colour],
  ]) {
    pen.lineWidth = wide;
    pen.strokeStyle = stroke;
    pen.beginPath();
    corners.forEach(([x, y], i) => (i ? pen.lineTo(x, y) : pen.moveTo(x, y)));
    pen.stroke();
  }
  pen.fillStyle = colour;
  for (const [x, y] of corners) pen.fillRect(x - 2.5, y - 2.5, 5, 5);
}

function ring(pen, x, y, radius, colour) {
  for (const [wide, stroke] of [
    [3.5, "rgb(0 0 0 / 55%)"],
    [1.5, colour],
  ]) {
    pen.lineWidth = wide;
    pen.strokeStyle = stroke;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 2 * Math.PI);
    pen.stroke();
  }
}
