/** A mask as a small picture: filled with a colour, its edge opaque. Drawn over the video by scaling it up. */

/** @param {Uint8Array} bits rows first @returns {OffscreenCanvas} of width x height; `hatch`: only every so many pixels are filled */
export function tint(bits, [height, width], { fill, alpha = 0.42, edge = 1, hatch = 0 }) {
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext("2d");
  const picture = pen.createImageData(width, height);
  const [red, green, blue] = channels(fill);
  const [inside, rim] = [Math.round(alpha * 255), Math.round(edge * 255)];
  for (let y = 0, i = 0; y < height; y++)
    for (let x = 0; x < width; x++, i++) {
      if (!bits[i]) continue;
      const border =
        edge > 0 &&
        ((x > 0 && !bits[i - 1]) ||
          (x < width - 1 && !bits[i + 1]) ||
          (y > 0 && !bits[i - width]) ||
          (y < height - 1 && !bits[i + width]));
      const drawn = border ? rim : hatch && (x + y) % hatch > hatch / 2 ? 0 : inside;
      picture.data.set([red, green, blue, drawn], 4 * i);
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
