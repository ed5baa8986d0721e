// Masks over a picture: a tint in a colour with a rim, drawn at any size. Each mask is painted once, on a canvas of its
// own box, and kept while it is used: moving through a video draws finished pictures.

import { runsOf } from "./rle.js";

const KEEP = 160; // painted masks
export const TINT = 0.38;
export const RIM = 0.95;

/** [r, g, b] of any colour of CSS. */
const known = new Map();
function channels(colour) {
  if (!known.has(colour)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    known.set(colour, [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)]);
  }
  return known.get(colour);
}

/** First and last (exclusive) column and row of runs that go down the columns of a picture; null for no pixel. */
function boundsOf(runs, height) {
  let [left, right, top, bottom] = [Infinity, 0, height, 0];
  let place = 0;
  runs.forEach((length, k) => {
    if (k % 2 && length) {
      const [first, last] = [place, place + length - 1];
      const [x0, x1] = [Math.floor(first / height), Math.floor(last / height)];
      left = Math.min(left, x0);
      right = Math.max(right, x1 + 1);
      if (x0 !== x1) [top, bottom] = [0, height];
      else [top, bottom] = [Math.min(top, first % height), Math.max(bottom, (last % height) + 1)];
    }
    place += length;
  });
  return right ? { left, right, top, bottom } : null;
}

/** One mask as a picture: {canvas, left, top, size}, or null where it has no pixel. `tint` and `rim`: opacities of the
 * inside and of its border. */
export function painted(counts, size, colour, { tint = TINT, rim = RIM } = {}) {
  const [height, width] = size;
  const runs = runsOf(counts, height * width);
  const bounds = boundsOf(runs, height);
  if (!bounds) return null;
  const { left, top } = bounds;
  const [w, h] = [bounds.right - left, bounds.bottom - top];
  const inside = new Uint8Array((w + 2) * (h + 2)); // a margin of one pixel all around
  let place = 0;
  runs.forEach((length, k) => {
    if (k % 2)
      for (let p = place, end = place + length; p < end; ) {
        const x = Math.floor(p / height);
        const stop = Math.min(end, (x + 1) * height);
        for (let y = p - x * height; p < stop; p++, y++) inside[(y - top + 1) * (w + 2) + x - left + 1] = 1;
      }
    place += length;
  });
  const canvas = new OffscreenCanvas(w, h);
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(w, h);
  const pixels = new Uint32Array(image.data.buffer); // little endian: alpha, blue, green, red
  const [r, g, b] = channels(colour);
  const base = (b << 16) | (g << 8) | r;
  const body = ((Math.round(tint * 255) << 24) | base) >>> 0;
  const edge = ((Math.round(rim * 255) << 24) | base) >>> 0;
  const row = w + 2;
  for (let y = 0; y < h; y++)
    for (let x = 0, at = (y + 1) * row + 1; x < w; x++, at++)
      if (inside[at])
        pixels[y * w + x] =
          inside[at - 1] && inside[at + 1] && inside[at - row] && inside[at + row] ? body : edge;
  pen.putImageData(image, 0, 0);
  return { canvas, left, top, size };
}

/** Painted masks that are kept, those used longest ago go first. */
export class MaskPictures {
  #kept = new Map();

  /** As `painted`, painted once. */
  of(counts, size, colour, options = {}) {
    const { tint = TINT, rim = RIM } = options;
    const key = `${colour}|${tint}|${rim}|${size}|${counts}`;
    let picture = this.#kept.get(key);
    if (picture === undefined) picture = painted(counts, size, colour, options);
    else this.#kept.delete(key);
    this.#kept.set(key, picture);
    if (this.#kept.size > KEEP) this.#kept.delete(this.#kept.keys().next().value);
    return picture;
  }

  clear() {
    this.#kept.clear();
  }
}

/** Draw a painted mask (or null) with the whole picture lying in `rect` {x, y, width, height} of the pen. */
export function drawMask(pen, picture, rect, alpha = 1) {
  if (!picture) return;
  const { canvas, left, top, size } = picture;
  const [sx, sy] = [rect.width / size[1], rect.height / size[0]];
  const before = pen.globalAlpha;
  pen.globalAlpha = alpha;
  pen.drawImage(canvas, rect.x + left * sx, rect.y + top * sy, canvas.width * sx, canvas.height * sy);
  pen.globalAlpha = before;
}
