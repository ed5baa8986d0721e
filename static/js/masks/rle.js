// COCO run lengths as text <-> pixels. The same layout as ml/formats/coco_rle.py: runs go down the columns, the first is
// of pixels outside; from the fourth on the difference to the run two before, five bits a character, lowest first.

/** The run lengths of counts. Throws where they are damaged or do not fill a picture of `pixels` pixels. */
export function runsOf(counts, pixels) {
  const runs = [];
  let total = 0;
  for (let at = 0; at < counts.length; ) {
    let value = 0;
    let shift = 0;
    for (let more = true; more; shift += 5) {
      const code = counts.charCodeAt(at++) - 48;
      if (!(code >= 0 && code < 64) || shift > 25) throw new Error("These run lengths are damaged.");
      value |= (code & 0x1f) << shift;
      more = (code & 0x20) !== 0;
      if (!more && code & 0x10) value |= -1 << (shift + 5);
    }
    if (runs.length > 2) value += runs[runs.length - 2];
    if (value < 0) throw new Error("These run lengths are damaged.");
    total += value;
    runs.push(value);
  }
  if (total !== pixels) throw new Error(`The runs add up to ${total} pixels, not to ${pixels}.`);
  return runs;
}

/** Uint8Array of 0 and 1, row after row. */
export function decode(counts, [height, width]) {
  const bits = new Uint8Array(height * width);
  let place = 0; // down the columns
  runsOf(counts, height * width).forEach((length, k) => {
    if (k % 2) for (let p = place; p < place + length; p++) bits[(p % height) * width + Math.floor(p / height)] = 1;
    place += length;
  });
  return bits;
}

/** The counts of bits (anything but 0 is inside), row after row. */
export function encode(bits, [height, width]) {
  const runs = [];
  let inside = 0;
  let length = 0;
  for (let x = 0; x < width; x++)
    for (let p = x; p < height * width; p += width) {
      const bit = bits[p] ? 1 : 0;
      if (bit === inside) length++;
      else {
        runs.push(length);
        inside = bit;
        length = 1;
      }
    }
  runs.push(length);
  return textOf(runs);
}

function textOf(runs) {
  let text = "";
  runs.forEach((run, k) => {
    let value = k > 2 ? run - runs[k - 2] : run;
    for (let more = true; more; ) {
      let code = value & 0x1f;
      value >>= 5;
      more = code & 0x10 ? value !== -1 : value !== 0;
      if (more) code |= 0x20;
      text += String.fromCharCode(code + 48);
    }
  });
  return text;
}

/** Pixels inside. */
export function area(counts, [height, width]) {
  return runsOf(counts, height * width).reduce((sum, length, k) => (k % 2 ? sum + length : sum), 0);
}
