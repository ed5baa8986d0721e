/**
 * Masks over the picture, for the frame that is shown. Between the frames the grounder looked at, the nearest one's masks
 * are drawn weakly, and a line says whose they are. While a mask is corrected, the corrector has the pointer.
 */

import { MaskPictures, drawMask } from "../masks/draw.js";
import { rimmed } from "../workspace/palette.js";
import { ROLES } from "./words.js";

const WEAK = 0.45;
const NEAR_S = 0.3; // how far away a looked-at frame may be to stand for the one shown

export class MaskOverlay {
  #pictures = new MaskPictures();

  constructor({ canvas, stage, note, store, player, palette, cache }) {
    Object.assign(this, { canvas, stage, note, store, player, palette, cache });
    this.corrector = null;
    this.drawnFrame = null; // whose masks are drawn
    new ResizeObserver(() => this.resize()).observe(stage);
    player.on("shown", () => this.draw());
    for (const topic of ["focus", "view", "claim"]) store.on(topic, () => this.redraw());
    cache.on("loaded", () => this.redraw());
    for (const type of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave", "dblclick"])
      canvas.addEventListener(type, (event) => this.#hand(event));
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

  /** The frame whose masks stand for `frame`: itself, or the nearest one looked at; null where none is near. */
  standing(frame) {
    const { claim, times } = this.store;
    const masks = claim && this.cache.of(claim);
    if (!masks) return null;
    if (masks.frames.has(frame) || masks.at(frame).length) return frame;
    let best = null;
    for (const one of claim.place?.frames ?? [])
      if (best === null || Math.abs(one - frame) < Math.abs(best - frame)) best = one;
    if (best === frame) return frame;
    if (best === null || Math.abs(times.zeroed(best) - times.zeroed(frame)) > NEAR_S) return null;
    return best;
  }

  draw() {
    if (!this.rect) return;
    const pen = this.canvas.getContext("2d");
    pen.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    pen.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const { store, player } = this;
    const masks = store.claim && this.cache.of(store.claim);
    const frame = player.shown >= 0 && masks ? this.standing(player.shown) : null;
    this.drawnFrame = frame;
    this.rows = [];
    if (frame !== null) this.#drawMasks(pen, masks, frame);
    this.corrector?.draw(pen, this);
    this.#tell(frame);
  }

  #drawMasks(pen, masks, frame) {
    const drawn = this.store.drawn;
    const exact = frame === this.player.shown;
    this.rows = masks.at(frame).filter((row) => drawn.has(row.query));
    for (const row of this.rows) {
      const picture = row.kind === "box" ? null : this.#pictures.of(row.counts, masks.size, this.colourOf(row));
      if (picture) {
        drawMask(pen, picture, this.rect, exact ? 1 : WEAK);
        row.box ??= boxOf(picture);
      } else if (row.box) this.#drawBox(pen, row);
      if (row.box) this.#label(pen, row);
    }
  }

  colourOf(row) {
    const role = this.store.query(row.query)?.role;
    if (role === "negative") return this.palette.danger;
    const person = this.store.persons.find((one) => one.number === row.person);
    return person ? this.palette.ofPerson(person) : this.palette.accent;
  }

  #px([x0, y0, x1, y1]) {
    const { x, y, width, height } = this.rect;
    return [x + x0 * width, y + y0 * height, x + x1 * width, y + y1 * height];
  }

  #drawBox(pen, row) {
    const [x0, y0, x1, y1] = this.#px(row.box);
    pen.strokeStyle = this.colourOf(row);
    pen.lineWidth = 2;
    pen.setLineDash([6, 4]);
    pen.strokeRect(x0, y0, x1 - x0, y1 - y0);
    pen.setLineDash([]);
  }

  #label(pen, row) {
    const [x0, y0] = this.#px(row.box);
    const query = this.store.query(row.query);
    const who = row.person >= 0 ? `P${row.person}` : `${row.object}`;
    const role = query?.role === "negative" ? ` ${ROLES.negative.toLowerCase()}: ${query.text}` : "";
    const words = `${who}${role}${row.edited ? " ✎" : ""}`;
    pen.font = `600 11px ${this.palette.font}`;
    pen.textBaseline = "bottom";
    pen.textAlign = "left";
    const wide = pen.measureText(words).width + 10;
    const [left, top] = [Math.max(2, Math.min(x0, this.stage.clientWidth - wide - 2)), Math.max(2, y0 - 18)];
    pen.fillStyle = `color-mix(in srgb, ${this.colourOf(row)} 80%, black)`;
    pen.beginPath();
    pen.roundRect(left, top, wide, 16, 4);
    pen.fill();
    rimmed(pen, words, left + 5, top + 14);
  }

  /** What is drawn, in words: also for who does not see it. */
  #tell(frame) {
    const { store, player } = this;
    const { claim } = store;
    let words = "";
    if (!claim) words = "";
    else if (this.cache.trouble.has(claim.id))
      words = `The masks could not be fetched: ${this.cache.trouble.get(claim.id)}`;
    else if (!claim.queries.length) words = "";
    else if (!this.cache.of(claim)) words = "The masks are on their way.";
    else if (!store.shown.masks) words = "Masks are hidden (H).";
    else if (frame === null) words = "Nobody looked for it at this frame.";
    else {
      const parts = [store.shown.control ? "Negative control" : ""];
      parts.push(this.rows.length ? "" : "Nothing found here");
      parts.push(frame === player.shown ? "" : `mask of frame ${frame}`);
      const approximate = this.rows.some((row) => !row.edited && (row.kind === "box" || store.approximate));
      if (approximate) parts.push("approximate mask");
      words = parts.filter(Boolean).join(" · ");
    }
    if (this.note.textContent !== words) this.note.textContent = words;
    this.note.hidden = !words;
  }

  // ---- Hands ----

  /** A pointer's place in pixels of the masks, [x, y]. */
  place(event, [height, width]) {
    const { x, y, width: wide, height: high } = this.rect;
    return [((event.offsetX - x) / wide) * width, ((event.offsetY - y) / high) * height];
  }

  /** From pixels of the masks to the canvas. */
  shown([px, py], [height, width]) {
    const { x, y, width: wide, height: high } = this.rect;
    return [x + (px / width) * wide, y + (py / height) * high];
  }

  #hand(event) {
    if (this.corrector?.on) this.corrector.hand(event);
  }
}

/** Box of a painted mask, in [0, 1] of the picture. */
const boxOf = ({ left, top, width, height, size: [high, wide] }) => [
  left / wide,
  top / high,
  (left + width) / wide,
  (top + height) / high,
];
