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

/** The stretches of pixels inside, by column: columns[x] = [first, last (exclusive), first, last, ...]; and the box of
 * all, null for no pixel. */
function columnsOf(runs, [height, width]) {
  const columns = Array.from({ length: width }, () => []);
  const box = { left: width, right: 0, top: height, bottom: 0 };
  let place = 0;
  runs.forEach((length, k) => {
    if (k % 2)
      for (let p = place, end = place + length; p < end; ) {
        const x = Math.floor(p / height);
        const stop = Math.min(end, (x + 1) * height);
        const [first, last] = [p - x * height, stop - x * height];
        columns[x].push(first, last);
        box.left = Math.min(box.left, x);
        box.right = Math.max(box.right, x + 1);
        box.top = Math.min(box.top, first);
        box.bottom = Math.max(box.bottom, last);
        p = stop;
      }
    place += length;
  });
  return { columns, box: box.right ? box : null };
}

/** Call `paint(first, last)` for what of a stretch none of the neighbour's stretches covers. */
function uncovered(first, last, neighbour, paint) {
  let at = first;
  for (let k = 0; k < neighbour.length && neighbour[k] < last; k += 2) {
    if (neighbour[k + 1] <= at) continue;
    if (neighbour[k] > at) paint(at, neighbour[k]);
    at = neighbour[k + 1];
  }
  if (at < last) paint(at, last);
}

/** One mask as a picture: {canvas, left, top, width, height, size}, or null where it has no pixel. `tint` and `rim`:
 * opacities of the inside and of its border. The canvas lies on its side, its rows are the picture's columns: that is
 * how run lengths run, so whole stretches are filled at once. `drawMask` sets it upright. */
export function painted(counts, size, colour, { tint = TINT, rim = RIM } = {}) {
  const { columns, box } = columnsOf(runsOf(counts, size[0] * size[1]), size);
  if (!box) return null;
  const { left, top } = box;
  const [width, height] = [box.right - left, box.bottom - top];
  const canvas = new OffscreenCanvas(height, width);
  const pen = canvas.getContext("2d");
  const image = pen.createImageData(height, width);
  const pixels = new Uint32Array(image.data.buffer); // little endian: alpha, blue, green, red
  const [r, g, b] = channels(colour);
  const base = (b << 16) | (g << 8) | r;
  const body = ((Math.round(tint * 255) << 24) | base) >>> 0;
  const edge = ((Math.round(rim * 255) << 24) | base) >>> 0;
  const nothing = [];
  for (let x = left; x < box.right; x++) {
    const row = (x - left) * height - top;
    const paintRim = (first, last) => pixels.fill(edge, row + first, row + last);
    const column = columns[x];
    for (let k = 0; k < column.length; k += 2) {
      const [first, last] = [column[k], column[k + 1]];
      pixels.fill(body, row + first, row + last);
      pixels[row + first] = pixels[row + last - 1] = edge;
      uncovered(first, last, columns[x - 1] ?? nothing, paintRim);
      uncovered(first, last, columns[x + 1] ?? nothing, paintRim);
    }
  }
  pen.putImageData(image, 0, 0);
  return { canvas, left, top, width, height, size };
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
  pen.save();
  pen.globalAlpha = alpha;
  pen.transform(0, sy, sx, 0, rect.x + left * sx, rect.y + top * sy);
  pen.drawImage(canvas, 0, 0);
  pen.restore();
}
