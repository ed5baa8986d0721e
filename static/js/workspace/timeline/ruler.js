// The ruler: clock ticks that fit, frame numbers when there is room, the frame grid from 6 px a frame, shots as bands.

import { clockOf } from "../times.js";

export const RULER = 36; // its height
const STEPS_S = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600];
const FRAME_STEPS = [1, 2, 5, 10, 25, 50, 100];
const LABEL_PX = 76;
const GRID_PX = 6;

/** Ticks of the window: {unit: "frames", step} or {unit: "seconds", step, decimals}. */
export function tickStep(window, times) {
  const perFrame = window.scale;
  if (perFrame >= GRID_PX) {
    const step = FRAME_STEPS.find((count) => count * perFrame >= LABEL_PX * 0.75) ?? FRAME_STEPS.at(-1);
    return { unit: "frames", step };
  }
  const seconds = (times.zeroed(Math.ceil(window.end)) - times.zeroed(Math.floor(window.start))) / window.width;
  const step = STEPS_S.find((s) => s / seconds >= LABEL_PX) ?? STEPS_S.at(-1);
  return { unit: "seconds", step, decimals: step < 1 ? 1 : 0 };
}

/** Visit (frame, label, strong) for every tick in the window. */
export function eachTick(window, times, visit) {
  const tick = tickStep(window, times);
  if (tick.unit === "frames") {
    for (let frame = Math.floor(window.start / tick.step) * tick.step; frame <= window.end; frame += tick.step)
      if (frame <= times.frames) visit(frame, String(frame), frame % (tick.step * 5) === 0);
    return;
  }
  const first = Math.max(0, Math.floor(times.zeroed(Math.floor(window.start)) / tick.step)); // before 0 on the clip's clock: none
  const last = times.zeroed(Math.ceil(window.end)) / tick.step;
  for (let k = first; k <= last; k++) {
    const frame = times.frameAt(k * tick.step + 1e-9);
    visit(frame, clockOf(k * tick.step, tick.decimals).replace(/^00:/, ""), k % 5 === 0);
  }
}

/** The ruler with its shot band, in a box of `width` x `height`. */
export function drawRuler(pen, { window, times, store, palette, width, height }) {
  const band = 12;
  pen.fillStyle = palette.bg_raised;
  pen.fillRect(0, 0, width, height);
  drawShotBand(pen, { window, store, palette, y: height - band, height: band });
  pen.font = `11px ${palette.mono}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  let free = -Infinity;
  eachTick(window, times, (frame, label, strong) => {
    const x = Math.round(window.x(frame)) + 0.5;
    pen.strokeStyle = palette.line_strong;
    pen.beginPath();
    pen.moveTo(x, height - band - (strong ? 9 : 6));
    pen.lineTo(x, height - band);
    pen.stroke();
    if (x < free) return;
    pen.fillStyle = palette.text_dim;
    pen.fillText(label, x + 4, 9);
    free = x + 12 + pen.measureText(label).width;
  });
  pen.strokeStyle = palette.line;
  pen.strokeRect(-1, -1, width + 2, height + 0.5);
}

function drawShotBand(pen, { window, store, palette, y, height }) {
  const { shots, times } = store;
  pen.font = `10px ${palette.font}`;
  pen.textBaseline = "middle";
  for (let i = 0; i < shots.length; i++) {
    const start = window.x(shots[i]);
    const end = window.x(shots[i + 1] ?? times.frames);
    if (end < 0 || start > window.width) continue;
    pen.fillStyle = i % 2 ? palette.shot : palette.bg_sunken;
    pen.fillRect(start, y, end - start, height);
    const left = Math.max(start, 0);
    if (Math.min(end, window.width) - left > 52) {
      pen.fillStyle = palette.text_dim;
      pen.fillText(`Shot ${i + 1}`, left + 5, y + height / 2 + 0.5);
    }
  }
}

/** Grid and cut lines through a lane area. */
export function drawGrid(pen, { window, times, store, palette, top, bottom }) {
  pen.lineWidth = 1;
  if (window.scale >= GRID_PX) {
    pen.strokeStyle = palette.grid;
    pen.beginPath();
    for (let frame = Math.ceil(window.start); frame <= window.end; frame++) {
      const x = Math.round(window.x(frame)) + 0.5;
      pen.moveTo(x, top);
      pen.lineTo(x, bottom);
    }
    pen.stroke();
  } else {
    pen.strokeStyle = palette.grid;
    pen.beginPath();
    eachTick(window, times, (frame) => {
      const x = Math.round(window.x(frame)) + 0.5;
      pen.moveTo(x, top);
      pen.lineTo(x, bottom);
    });
    pen.stroke();
  }
  drawCuts(pen, { window, store, palette, top, bottom });
}

function drawCuts(pen, { window, store, palette, top, bottom }) {
  pen.strokeStyle = palette.line_strong;
  pen.setLineDash([3, 3]);
  pen.beginPath();
  let before = -10;
  for (const cut of store.shots.slice(1)) {
    const x = Math.round(window.x(cut)) + 0.5;
    if (x < 0 || x > window.width || x - before < 3) continue;
    before = x;
    pen.moveTo(x, top);
    pen.lineTo(x, bottom);
  }
  pen.stroke();
  pen.setLineDash([]);
}
