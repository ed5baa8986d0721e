/** Masks as bits: Uint8Array of height x width, rows first, 1 inside. What is done to one by hand: a brush and a polygon. */

/** A copy with a disc of `radius` pixels swept from one point to another set to `value`. Points are [x, y] in pixels. */
export function sweep(bits, [height, width], from, to, radius, value) {
  const found = bits.slice();
  const [ax, ay] = from;
  const [bx, by] = to;
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const top = Math.max(0, Math.floor(Math.min(ay, by) - radius));
  const bottom = Math.min(height - 1, Math.ceil(Math.max(ay, by) + radius));
  const left = Math.max(0, Math.floor(Math.min(ax, bx) - radius));
  const right = Math.min(width - 1, Math.ceil(Math.max(ax, bx) + radius));
  for (let y = top; y <= bottom; y++) {
    for (let x = left; x <= right; x++) {
      const [px, py] = [x + 0.5 - ax, y + 0.5 - ay];
      const share = length ? Math.max(0, Math.min(1, (px * dx + py * dy) / length)) : 0;
      const [ox, oy] = [px - share * dx, py - share * dy];
      if (ox * ox + oy * oy <= radius * radius) found[y * width + x] = value;
    }
  }
  return found;
}

/** A copy with the inside of a polygon set to `value`: pixels whose middle lies inside, by the even-odd rule. */
export function polygon(bits, [height, width], points, value) {
  const found = bits.slice();
  for (let y = 0; y < height; y++) {
    const middle = y + 0.5;
    const cuts = [];
    for (let i = 0; i < points.length; i++) {
      const [ax, ay] = points[i];
      const [bx, by] = points[(i + 1) % points.length];
      if (ay <= middle !== by <= middle) cuts.push(ax + ((middle - ay) / (by - ay)) * (bx - ax));
    }
    cuts.sort((a, b) => a - b);
    for (let i = 0; i + 1 < cuts.length; i += 2) {
      const first = Math.max(0, Math.ceil(cuts[i] - 0.5));
      const last = Math.min(width - 1, Math.ceil(cuts[i + 1] - 0.5) - 1);
      for (let x = first; x <= last; x++) found[y * width + x] = value;
    }
  }
  return found;
}
