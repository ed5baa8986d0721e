/** Thumbnails of claims: the picture cut out around the mask, with the rest darkened. One seek at a time, on a video of its own. */

import { h } from "../workspace/dom.js";
import { tint } from "./paint.js";

const WIDTH = 72;
const HEIGHT = 48;
const MARGIN = 0.25; // of the box, around it
const PATIENCE_MS = 4000;

export class Thumbs {
  #last = Promise.resolve(null);
  #second = null;

  /** `src`: of the video, null where there are no pictures. */
  constructor({ store, cache, src }) {
    Object.assign(this, { store, cache, src });
  }

  /** A canvas with the claim's picture, or null where it has none. */
  picture(claim) {
    if (!this.src || !claim.thumb) return Promise.resolve(null);
    this.#last = this.#last.then(() => this.#cut(claim)).catch(() => null);
    return this.#last;
  }

  async #cut(claim) {
    const { thumb } = claim;
    const [video, masks] = await Promise.all([this.#show(thumb.frame), this.cache.load(claim)]);
    if (!video) return null;
    const { videoWidth: wide, videoHeight: high } = video;
    const [x0, y0, x1, y1] = fitted(thumb.box, wide, high);
    const canvas = h("canvas", { width: WIDTH, height: HEIGHT });
    const pen = canvas.getContext("2d");
    pen.drawImage(video, x0, y0, x1 - x0, y1 - y0, 0, 0, WIDTH, HEIGHT);
    const row = masks?.found(thumb.query, thumb.object, thumb.frame);
    if (row?.kind === "mask") {
      const [height, width] = masks.size;
      const outside = masks.bitsOf(row).map((bit) => 1 - bit);
      const rest = tint(outside, masks.size, { fill: "#000", alpha: 0.55, edge: 0 });
      const [sx, sy] = [width / wide, height / high];
      pen.drawImage(rest, x0 * sx, y0 * sy, (x1 - x0) * sx, (y1 - y0) * sy, 0, 0, WIDTH, HEIGHT);
    }
    return canvas;
  }

  async #show(frame) {
    this.#second ??= Object.assign(document.createElement("video"), { src: this.src, muted: true, preload: "auto" });
    const video = this.#second;
    const seeked = new Promise((done) => video.addEventListener("seeked", () => done(true), { once: true }));
    video.currentTime = this.store.times.inside(frame, 0.4);
    const late = new Promise((done) => setTimeout(() => done(false), PATIENCE_MS));
    await Promise.race([seeked, late]);
    return video.readyState >= 2 ? video : null;
  }
}

/** The box with a margin, in pixels, widened to the thumbnail's shape and kept inside the picture where it fits. */
function fitted([bx0, by0, bx1, by1], wide, high) {
  const middle = [((bx0 + bx1) / 2) * wide, ((by0 + by1) / 2) * high];
  let width = (bx1 - bx0) * wide * (1 + 2 * MARGIN);
  let height = (by1 - by0) * high * (1 + 2 * MARGIN);
  if (width / height < WIDTH / HEIGHT) width = (height * WIDTH) / HEIGHT;
  else height = (width * HEIGHT) / WIDTH;
  const x = Math.min(Math.max(middle[0] - width / 2, 0), Math.max(0, wide - width));
  const y = Math.min(Math.max(middle[1] - height / 2, 0), Math.max(0, high - height));
  return [x, y, x + width, y + height];
}
