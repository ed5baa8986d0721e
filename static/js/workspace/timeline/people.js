// A person's lane: the gaze ribbon, coloured by whom the person looks at, and the velocity trace under it.

import { rimmed } from "../palette.js";
import { KIND } from "../vocabulary.js";
import { laneOfCode } from "../ribbon.js";

export const RIBBON = 14;
export const VELOCITY = 18;
export const LANE = RIBBON + VELOCITY + 7;
const BUCKETS_FROM = 8; // frames a pixel from which buckets are drawn instead of runs

/** How a run is filled: a colour or a hatch. */
function fillOf(pen, code, store, palette) {
  const lane = laneOfCode(code);
  if (lane >= 0) return palette.ofPerson(store.people[lane]);
  if (code === KIND.object) return palette.object;
  if (code === KIND.scene) return palette.scene;
  if (code === KIND.camera) return palette.camera;
  if (code === KIND.off) return palette.hatch(pen, palette.text_dim, 6, 1.3);
  if (code === KIND.unusable) return palette.hatch(pen, palette.unusable, 4, 1);
  return null;
}

export function drawPerson(pen, { window, store, ribbon, palette, person, y, threshold, rate }) {
  const start = Math.max(0, Math.floor(window.start));
  const end = Math.ceil(window.end);
  drawPresence(pen, { window, store, palette, person, y });
  if (ribbon) {
    const lane = ribbon.lane(store, person.id);
    drawRibbon(pen, { window, store, palette, lane, y: y + 3, start, end });
    drawVelocity(pen, {
      window,
      palette,
      lane,
      y: y + 3 + RIBBON + 2,
      start,
      end,
      threshold,
      times: store.times,
      rate,
    });
  }
  drawCorrections(pen, { window, store, palette, person, y: y + 3 });
}

/** Where the person is in the picture at all: a quiet bed under the ribbon. */
function drawPresence(pen, { window, store, palette, person, y }) {
  pen.fillStyle = palette.lane;
  let reached = -Infinity;
  for (const tracklet of store.trackletsOf(person.id)) {
    const x0 = Math.max(window.x(tracklet.start), reached, -2);
    const x1 = Math.min(window.x(tracklet.end), window.width + 2);
    if (x1 <= x0) continue;
    pen.fillRect(x0, y + 3, Math.max(1, x1 - x0), RIBBON + VELOCITY + 2);
    reached = x1;
  }
}

function drawRibbon(pen, { window, store, palette, lane, y, start, end }) {
  const draw = (from, to, code, filled) => {
    const fill = fillOf(pen, code, store, palette);
    if (!fill) return;
    const x0 = window.x(from);
    const x1 = window.x(to);
    pen.globalAlpha = filled ? 0.4 : 1;
    pen.fillStyle = fill;
    // whole pixels, so that neighbours meet without a seam
    const left = Math.round(x0);
    pen.fillRect(left, y, Math.max(1, Math.round(x1) - left), RIBBON);
  };
  const framesAPixel = 1 / window.scale;
  if (framesAPixel < BUCKETS_FROM) lane.runs(start, end, draw);
  else lane.dominant(start, end, framesAPixel * 2, draw);
  pen.globalAlpha = 1;
  if (window.scale > 0.7) labelRuns(pen, { window, store, palette, lane, y, start, end });
}

/** Name on the run as soon as there is room: colour is never alone. */
function labelRuns(pen, { window, store, palette, lane, y, start, end }) {
  pen.font = `600 10px ${palette.font}`;
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  lane.runs(start, end, (from, to, code) => {
    const target = laneOfCode(code);
    const word =
      target >= 0
        ? store.shortName(store.people[target].id)
        : { [KIND.camera]: "camera", [KIND.object]: "object" }[code];
    if (!word) return;
    const left = Math.max(window.x(from), 0);
    const room = Math.min(window.x(to), window.width) - left - 8;
    if (room < 12 || pen.measureText(word).width > room) return;
    if (code === KIND.object) {
      pen.fillStyle = palette.text;
      pen.fillText(word, left + 4, y + RIBBON / 2 + 0.5);
    } else rimmed(pen, word, left + 4, y + RIBBON / 2 + 0.5);
  });
}

function drawCorrections(pen, { window, store, palette, person, y }) {
  for (const correction of store.correctionsOf(person.id)) {
    const x0 = Math.round(window.x(correction.start));
    const x1 = Math.max(x0 + 2, Math.round(window.x(correction.end)));
    if (x1 < 0 || x0 > window.width) continue;
    const code = correction.kind === "point" ? KIND.scene : KIND[correction.kind];
    const target = correction.target_person ? store.person(correction.target_person) : null;
    pen.fillStyle = palette.bg;
    pen.fillRect(x0, y, x1 - x0, RIBBON);
    pen.fillStyle = target ? palette.ofPerson(target) : (fillOf(pen, code, store, palette) ?? palette.scene);
    pen.fillRect(x0, y, x1 - x0, RIBBON);
    // a human's word: a rule above and below, and a closed end on both sides
    pen.fillStyle = palette.text;
    pen.fillRect(x0, y - 2, x1 - x0, 1.5);
    pen.fillRect(x0, y - 2, 1.5, RIBBON + 3);
    pen.fillRect(x1 - 1.5, y - 2, 1.5, RIBBON + 3);
    if (store.isSelected("correction", correction.id)) {
      pen.strokeStyle = palette.accent;
      pen.lineWidth = 2;
      pen.strokeRect(x0 - 1, y - 3, x1 - x0 + 2, RIBBON + 5);
      pen.lineWidth = 1;
    }
    if (target && x1 - x0 > 22) {
      pen.font = `600 10px ${palette.font}`;
      pen.textBaseline = "middle";
      pen.textAlign = "left";
      rimmed(pen, store.shortName(target.id), x0 + 4, y + RIBBON / 2 + 0.5);
    }
  }
}

function drawVelocity(pen, { window, palette, lane, y, start, end, threshold, times, rate }) {
  const full = Math.max(lane.vmax, threshold * 1.2, 1e-6);
  const level = (value) => y + VELOCITY - 1 - Math.min(1, value / full) * (VELOCITY - 2);
  if (threshold) {
    const at = Math.round(level(threshold)) + 0.5;
    pen.strokeStyle = palette.grid;
    pen.beginPath();
    pen.moveTo(0, at);
    pen.lineTo(window.width, at);
    pen.stroke();
  }
  pen.strokeStyle = palette.text_dim;
  pen.lineWidth = 1;
  pen.beginPath();
  const framesAPixel = 1 / window.scale;
  let lastX = -Infinity;
  if (framesAPixel * 2 < 8) {
    let lastFrame = -1;
    lane.velocities(start, end, (frame, value) => {
      if (Number.isNaN(value)) {
        lastFrame = -1;
        return;
      }
      const x = window.x(frame);
      const broken = lastFrame < 0 || times.zeroed(frame) - times.zeroed(lastFrame) > 2.5 / rate;
      if (broken) pen.moveTo(x, level(value));
      else pen.lineTo(x, level(value));
      lastFrame = frame;
    });
  } else {
    lane.extremes(start, end, framesAPixel * 2, (frame, low, high) => {
      const x = window.x(frame);
      // each column is joined to the one before it
      if (x - lastX > 6) pen.moveTo(x, level(high));
      else pen.lineTo(x, level(high));
      if (high - low > full / VELOCITY) pen.lineTo(x, level(low));
      lastX = x;
    });
  }
  pen.stroke();
}
