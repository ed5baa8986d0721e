// Event bars: one stripe per participant, the type's glyph at the leading edge, the state in how it is filled.
//
// proposed: outline with a light hatch; confirmed: solid; edited: solid with a notch; rejected: a thin line;
// stale: amber edges; not saved yet: a dot at the trailing edge.

import { rimmed } from "../palette.js";
import { ROLE_MARKS } from "../vocabulary.js";

export const BAR = 14;
export const ROW = 17;
const LEAST_PX = 3;

/** Pixels [left, right) of an event's bar, at least a few wide. */
export function barSpan(window, event) {
  const left = window.x(event.start);
  return [left, Math.max(window.x(event.end), left + LEAST_PX)];
}

/** `room`: pixel up to which the bar may bear words, for another bar may begin there. */
export function drawBar(pen, event, { window, store, palette, glyphs, y, left, right, room, selected, draft }) {
  const x0 = Math.max(left, -20);
  const x1 = Math.min(right, window.width + 20);
  const width = x1 - x0;
  const colours = coloursOf(event, store, palette);
  if (event.status === "rejected") drawRejected(pen, { palette, x0, width, y });
  else drawBody(pen, event, { palette, x0, width, y, colours, draft });
  if (event.stale) {
    pen.fillStyle = palette.warn;
    pen.fillRect(x0, y, 3, BAR);
    pen.fillRect(x1 - Math.min(3, width / 2), y, Math.min(3, width / 2), BAR);
  }
  if (event.edited && event.status !== "rejected") drawNotch(pen, palette, x1, y, width);
  const free = selected ? x1 : Math.min(x1, room);
  if (free - x0 > 20) drawFace(pen, event, { store, palette, glyphs, x0: Math.max(x0, 0), x1: free, y, left });
  if (store.pendingIds.has(`event:${event.id}`)) {
    pen.fillStyle = palette.text;
    pen.beginPath();
    pen.arc(x1 - 4, y + BAR - 4, 2, 0, 7);
    pen.fill();
  }
  if (selected) drawSelection(pen, { palette, x0, x1, y });
}

function coloursOf(event, store, palette) {
  const colours = event.participants.map(([id]) => palette.ofPerson(store.person(id)));
  return colours.length ? colours : [palette.text_dim];
}

function drawRejected(pen, { palette, x0, width, y }) {
  pen.fillStyle = palette.text_dim;
  pen.fillRect(x0, y + BAR / 2 - 1, width, 2);
}

function drawBody(pen, event, { palette, x0, width, y, colours, draft }) {
  const solid = event.status === "confirmed" && !draft;
  const stripe = BAR / colours.length;
  const last = colours.length - 1;
  pen.globalAlpha = solid ? 1 : 0.26;
  colours.forEach((colour, i) => {
    pen.fillStyle = colour;
    if (i && i < last) return pen.fillRect(x0, y + i * stripe, width, stripe + 0.5);
    const [top, bottom] = [i ? 0 : 3, i < last ? 0 : 3];
    return fillRound(pen, x0, y + i * stripe, width, stripe + (i < last ? 0.5 : 0), [top, top, bottom, bottom]);
  });
  pen.globalAlpha = 1;
  if (solid) return;
  pen.fillStyle = palette.hatch(pen, palette.dark ? "rgb(255 255 255 / 22%)" : "rgb(0 0 0 / 16%)", 7, 1);
  fillRound(pen, x0, y, width, BAR, 3);
  outline(pen, { x0, width, y, colours, draft });
}

function fillRound(pen, x, y, width, height, radii) {
  pen.beginPath();
  pen.roundRect(x, y, width, height, radii);
  pen.fill();
}

/** The outline of a proposal, in its people's colours: each stripe's edge is that person's. */
function outline(pen, { x0, width, y, colours, draft }) {
  pen.lineWidth = 1.25;
  if (draft) pen.setLineDash([4, 3]);
  const down = pen.createLinearGradient(0, y, 0, y + BAR);
  colours.forEach((colour, i) => {
    down.addColorStop(i / colours.length, colour);
    down.addColorStop((i + 1) / colours.length, colour);
  });
  pen.strokeStyle = colours.length > 1 ? down : colours[0];
  pen.beginPath();
  pen.roundRect(x0 + 0.5, y + 0.5, Math.max(1, width - 1), BAR - 1, 3);
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}

function drawNotch(pen, palette, x1, y, width) {
  const size = Math.min(7, width);
  pen.fillStyle = palette.bg;
  pen.beginPath();
  pen.moveTo(x1 - size, y - 0.5);
  pen.lineTo(x1 + 0.5, y - 0.5);
  pen.lineTo(x1 + 0.5, y + size);
  pen.closePath();
  pen.fill();
}

/** Glyph and names, as far as there is room. */
function drawFace(pen, event, { store, palette, glyphs, x0, x1, y, left }) {
  const solid = event.status === "confirmed";
  const colour = event.status === "rejected" ? palette.text_dim : solid ? "#fff" : palette.text;
  const size = 12;
  let x = x0 + 3;
  if (event.status === "rejected") {
    pen.fillStyle = palette.bg;
    pen.fillRect(x - 1, y, size + 2, BAR);
  }
  if (left > -size) {
    glyphs.draw(pen, event.type, x, y + (BAR - size) / 2, size, colour);
    x += size + 4;
  }
  if (event.status === "rejected") return;
  const words = wordsOf(event, store);
  pen.font = `600 10.5px ${palette.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  if (x1 - x - 6 < widthOf(pen, words)) return;
  if (solid) return rimmed(pen, words, x, y + BAR / 2 + 0.5);
  pen.fillStyle = colour;
  pen.fillText(words, x, y + BAR / 2 + 0.5);
}

const widths = new Map(); // words -> pixels, in the one font of bars

function widthOf(pen, words) {
  let width = widths.get(words);
  if (width === undefined) {
    if (widths.size > 2000) widths.clear();
    widths.set(words, (width = pen.measureText(words).width));
  }
  return width;
}

function wordsOf(event, store) {
  if (event.participants.some(([, role]) => ROLE_MARKS[role])) return store.describe(event);
  return event.participants.map(([id]) => store.shortName(id)).join(" ");
}

function drawSelection(pen, { palette, x0, x1, y }) {
  pen.strokeStyle = palette.accent;
  pen.lineWidth = 2;
  pen.beginPath();
  pen.roundRect(x0 - 1.5, y - 1.5, x1 - x0 + 3, BAR + 3, 4);
  pen.stroke();
  pen.lineWidth = 1;
  pen.fillStyle = palette.accent;
  pen.fillRect(x0 - 3, y + 3, 3, BAR - 6);
  pen.fillRect(x1, y + 3, 3, BAR - 6);
}
