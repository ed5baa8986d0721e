/** Bits as a small picture: filled with a colour, their edge opaque. Drawn over the video by scaling it up. */

/** @param {Uint8Array} bits rows first @returns {OffscreenCanvas} of width x height */
export function tint(bits, [height, width], { fill, alpha = 0.42, edge = 1 }) {
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  const picture = pen.createImageData(width, height);
  const pixels = new Uint32Array(picture.data.buffer); // little endian: alpha, blue, green, red
  const [red, green, blue] = channels(fill);
  const base = (blue << 16) | (green << 8) | red;
  const inside = ((Math.round(alpha * 255) << 24) | base) >>> 0;
  const rim = edge > 0 ? ((Math.round(edge * 255) << 24) | base) >>> 0 : inside;
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      if (!bits[i]) continue;
      const border =
        (x > 0 && !bits[i - 1]) ||
        (x < width - 1 && !bits[i + 1]) ||
        (y > 0 && !bits[i - width]) ||
        (y < height - 1 && !bits[i + width]);
      pixels[i] = border ? rim : inside;
    }
  pen.putImageData(picture, 0, 0);
  return canvas;
}

const known = new Map();

/** Red, green and blue of a CSS colour. */
function channels(colour) {
  if (!known.has(colour)) {
    const pen = new OffscreenCanvas(1, 1).getContext("2d");
    pen.fillStyle = colour;
    pen.fillRect(0, 0, 1, 1);
    known.set(colour, [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)]);
  }
  return known.get(colour);
}
