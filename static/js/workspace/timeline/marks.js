// What lies over the lanes: playhead, marked span, hover, drag ghosts; and the quiet lanes of coverage and sound.

import { BAR } from "./bars.js";

export const WAVE = 26; // height of the loudness curve

export function drawMarks(pen, timeline) {
  const { window, store, player, palette, height, hover, ghost } = timeline;
  const top = 24;
  timeline.guest?.draw(pen, timeline);
  drawSpan(pen, { window, store, palette, height });
  const chosen = store.draft ?? store.selectedEvent;
  if (chosen) {
    pen.fillStyle = palette.accent;
    pen.globalAlpha = 0.07;
    pen.fillRect(window.x(chosen.start), top, window.x(chosen.end) - window.x(chosen.start), height - top);
    pen.globalAlpha = 1;
  }
  if (hover && !ghost) {
    const x = Math.round(window.x(Math.floor(hover.frame))) + 0.5;
    pen.strokeStyle = palette.line_strong;
    pen.globalAlpha = 0.7;
    line(pen, x, top, height);
    pen.globalAlpha = 1;
  }
  if (ghost) drawGhost(pen, timeline);
  drawPlayhead(pen, { window, player, palette, height });
}

function line(pen, x, top, bottom) {
  pen.beginPath();
  pen.moveTo(x, top);
  pen.lineTo(x, bottom);
  pen.stroke();
}

function drawPlayhead(pen, { window, player, palette, height }) {
  const x = window.x(player.frame);
  const width = Math.max(1.5, Math.min(window.scale, 40));
  if (x + width < 0 || x > window.width) return;
  pen.fillStyle = palette.accent;
  pen.globalAlpha = 0.16;
  if (window.scale > 3) pen.fillRect(x, 20, width, height - 20);
  pen.globalAlpha = 1;
  pen.fillRect(Math.round(x), 16, 1.5, height - 16);
  pen.beginPath();
  pen.moveTo(x - 6, 12);
  pen.lineTo(x + 7, 12);
  pen.lineTo(x + 7, 17);
  pen.lineTo(x + 0.75, 24);
  pen.lineTo(x - 6, 17);
  pen.closePath();
  pen.fill();
}

/** The span marked with in and out. */
function drawSpan(pen, { window, store, palette, height }) {
  const { in: from, out: to } = store.span;
  if (from === null && to === null) return;
  const start = window.x(from ?? to - 1);
  const end = window.x(to ?? from + 1);
  pen.fillStyle = palette.accent;
  if (from !== null && to !== null && from < to) {
    pen.globalAlpha = 0.1;
    pen.fillRect(start, 0, end - start, height);
    pen.globalAlpha = 1;
    pen.fillRect(start, 22, end - start, 3);
  }
  if (from !== null) bracket(pen, window.x(from), 1);
  if (to !== null) bracket(pen, window.x(to), -1);
}

function bracket(pen, x, side) {
  pen.fillRect(x - (side < 0 ? 2 : 0), 12, 2, 13);
  pen.fillRect(side > 0 ? x : x - 6, 12, 6, 2);
  pen.fillRect(side > 0 ? x : x - 6, 23, 6, 2);
}

function drawGhost(pen, { window, palette, ghost, height, store }) {
  pen.strokeStyle = pen.fillStyle = palette.accent;
  if (ghost.snap !== null && ghost.snap !== undefined) {
    pen.setLineDash([2, 2]);
    line(pen, Math.round(window.x(ghost.snap)) + 0.5, 24, height);
    pen.setLineDash([]);
  }
  if (ghost.lasso) {
    const { x0, y0, x1, y1 } = ghost.lasso;
    pen.globalAlpha = 0.12;
    pen.fillRect(x0, y0, x1 - x0, y1 - y0);
    pen.globalAlpha = 1;
    pen.strokeRect(Math.round(x0) + 0.5, Math.round(y0) + 0.5, x1 - x0, y1 - y0);
  }
  if (ghost.span) {
    const left = window.x(ghost.span[0]);
    const right = Math.max(left + 2, window.x(ghost.span[1]));
    pen.globalAlpha = 0.22;
    pen.fillRect(left, ghost.y - 1, right - left, (ghost.height ?? BAR) + 2);
    pen.globalAlpha = 1;
    pen.lineWidth = 1.5;
    pen.strokeRect(left, ghost.y - 1, right - left, (ghost.height ?? BAR) + 2);
    pen.lineWidth = 1;
    label(pen, palette, spanWords(store.times, ghost.span), left, right, ghost.y - 19, window.width);
  }
}

function spanWords(times, [start, end]) {
  const seconds = times.zeroed(end) - times.zeroed(start);
  return `${start} – ${end - 1}   ${seconds.toFixed(2)} s`;
}

function label(pen, palette, words, left, right, y, width) {
  pen.font = `11px ${palette.mono}`;
  const wide = pen.measureText(words).width + 10;
  const x = Math.max(2, Math.min((left + right) / 2 - wide / 2, width - wide - 2));
  pen.fillStyle = palette.accent;
  pen.beginPath();
  pen.roundRect(x, y, wide, 16, 3);
  pen.fill();
  pen.fillStyle = palette.dark ? "#0b1524" : "#fff";
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.fillText(words, x + 5, y + 8.5);
}

/** What a human has declared complete. */
export function drawCoverage(pen, { window, store, palette, y, height }) {
  for (const cover of store.all("coverage")) {
    const left = window.x(cover.start);
    const right = Math.max(left + 2, window.x(cover.end));
    if (right < 0 || left > window.width) continue;
    pen.fillStyle = palette.ok;
    pen.globalAlpha = 0.22;
    pen.fillRect(left, y + 2, right - left, height - 5);
    pen.globalAlpha = 1;
    pen.fillRect(left, y + height - 4, right - left, 1.5);
    pen.fillRect(left, y + 2, 1.5, height - 5);
    pen.fillRect(right - 1.5, y + 2, 1.5, height - 5);
    if (store.isSelected("coverage", cover.id)) {
      pen.strokeStyle = palette.accent;
      pen.lineWidth = 2;
      pen.strokeRect(left - 1, y + 1, right - left + 2, height - 3);
      pen.lineWidth = 1;
    }
    const whom = cover.persons.length ? cover.persons.map((id) => store.shortName(id)).join(" ") : "everybody";
    const words = `${cover.modality}, ${whom}`;
    pen.font = `10px ${palette.font}`;
    pen.textBaseline = "middle";
    pen.textAlign = "left";
    const x = Math.max(left, 0) + 5;
    if (x + pen.measureText(words).width + 4 < Math.min(right, window.width)) {
      pen.fillStyle = palette.text;
      pen.fillText(words, x, y + height / 2);
    }
  }
}

/** Loudness: pairs of signed bytes, 50 a second of media time. */
export function drawWaveform(pen, { window, times, palette, waveform, y, height }) {
  const { least, most, rate } = waveform;
  pen.fillStyle = palette.bg_sunken;
  pen.fillRect(0, y, window.width, height);
  const middle = y + height / 2;
  const unit = (height / 2 - 2) / 127;
  pen.fillStyle = palette.text_dim;
  for (let x = 0; x < window.width; x++) {
    const from = window.frame(x);
    if (from >= times.frames) break;
    const a = Math.floor(mediaAt(times, from) * rate);
    const b = Math.max(a + 1, Math.floor(mediaAt(times, window.frame(x + 1)) * rate));
    let low = 0;
    let high = 0;
    const step = Math.max(1, Math.floor((b - a) / 24));
    for (let k = a; k < Math.min(b, least.length); k += step) {
      low = Math.min(low, least[k]);
      high = Math.max(high, most[k]);
    }
    pen.fillRect(x, middle - high * unit, 1, Math.max(1, (high - low) * unit));
  }
}

/** Media seconds at a fractional frame. */
function mediaAt(times, frame) {
  const k = Math.max(0, Math.min(times.frames - 1, Math.floor(frame)));
  return times.seconds[k] + (frame - k) * (times.seconds[k + 1] - times.seconds[k]);
}
