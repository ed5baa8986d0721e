// Masks of the people, made at the run's samples: fetched in blocks of frames while they are shown, read at a frame.
// They are approximate, and between two samples the last one is moved with the person's box.

import { upperBound } from "./dom.js";
import { MaskPictures, drawMask } from "../masks/draw.js";

const BLOCK = 512;
const KEEP = 24; // blocks
const AGAIN_MS = 3000;
const SAMPLE_ALPHA = 1;
const BETWEEN_ALPHA = 0.6;

export class Masks {
  #blocks = new Map(); // number -> Map of track -> [{frame, box, counts}], oldest use first
  #asked = new Set();
  #pictures = new MaskPictures();

  /** `onload` is told when masks have come that were asked for. */
  constructor({ api, store, onload }) {
    Object.assign(this, { api, store, onload });
    this.size = null;
    this.run = store.run?.id;
  }

  /** How the run's masks were made; null while there are none. */
  get made() {
    return this.store.run?.masks ?? null;
  }

  /** Whatever is kept may be of another run, or of none. */
  forget() {
    this.#blocks.clear();
    this.#asked.clear();
    this.#pictures.clear();
  }

  #block(number) {
    const block = this.#blocks.get(number);
    if (!block) {
      if (!this.#asked.has(number)) this.#bring(number);
      return null;
    }
    this.#blocks.delete(number);
    this.#blocks.set(number, block);
    return block;
  }

  async #bring(number) {
    const { id, frames } = this.store.video;
    const [start, end] = [number * BLOCK, Math.min((number + 1) * BLOCK, frames)];
    const run = this.store.run.id;
    this.#asked.add(number);
    try {
      const answer = await this.api.get(`/videos/${id}/masks?start=${start}&end=${end}`);
      if (this.store.run?.id !== run || (answer.run && answer.run !== run)) return; // of another run by now
      this.size = answer.size ?? this.size;
      const tracks = new Map();
      answer.frame.forEach((frame, k) => {
        const track = answer.track[k];
        if (!tracks.has(track)) tracks.set(track, []);
        tracks.get(track).push({ frame, box: answer.box[k], counts: answer.counts[k] });
      });
      this.#blocks.set(number, tracks);
      if (this.#blocks.size > KEEP) this.#blocks.delete(this.#blocks.keys().next().value);
      this.#asked.delete(number);
      this.onload();
    } catch (error) {
      console.warn("Masks could not be fetched.", error);
      setTimeout(() => this.#asked.delete(number), AGAIN_MS); // not again at once
    }
  }

  /** The mask of a track at its last sample, at most `reach` frames back; null for none, or while it is on its way. */
  at(track, frame, reach) {
    if (!this.made) return null;
    for (const number of new Set([Math.floor(frame / BLOCK), Math.floor(Math.max(0, frame - reach) / BLOCK)])) {
      const rows = this.#block(number)?.get(track);
      const next = rows ? upperBound(rows, frame, (row) => row.frame) : 0;
      if (next) return frame - rows[next - 1].frame <= reach ? rows[next - 1] : null;
    }
    return null;
  }

  /** Draw a mask of `at` in a colour. `rect`: where the whole picture lies; `body` and `then`: the person's box now and
   * at the mask's sample, in [0, 1]; the mask is moved and scaled as the box was. */
  draw(pen, mask, { colour, rect, body, then, exact }) {
    const picture = this.#pictures.of(mask.counts, this.size, colour);
    const sx = exact ? 1 : (body[2] - body[0]) / (then[2] - then[0] || 1);
    const sy = exact ? 1 : (body[3] - body[1]) / (then[3] - then[1] || 1);
    const moved = exact
      ? rect
      : {
          x: rect.x + (body[0] - then[0] * sx) * rect.width,
          y: rect.y + (body[1] - then[1] * sy) * rect.height,
          width: rect.width * sx,
          height: rect.height * sy,
        };
    drawMask(pen, picture, moved, exact ? SAMPLE_ALPHA : BETWEEN_ALPHA);
  }
}
