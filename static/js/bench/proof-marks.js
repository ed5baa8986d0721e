// A question on the timeline: what its clip shows, the window it asks about, and the events its proof uses.

import { BAR, barSpan } from "../workspace/timeline/bars.js";

const TOP = 36; // under the ruler
const BAND = 12; // height of the band of the shots
const LABEL_PX = 12;

export function drawProof(pen, timeline, question, clip) {
  const { window, palette, height, width } = timeline;
  const [start, end] = clip.map((frame) => window.x(frame));
  veil(pen, palette, 0, start, height);
  veil(pen, palette, end, width, height);
  bracket(pen, palette, start, 1);
  bracket(pen, palette, end, -1);
  if (question.start !== undefined) asked(pen, timeline, question);
  for (const mark of question.marks ?? []) ring(pen, timeline, mark);
}

/** What the clip does not show is under a veil. */
function veil(pen, palette, from, to, height) {
  if (to <= from) return;
  pen.fillStyle = palette.bg;
  pen.globalAlpha = 0.55;
  pen.fillRect(from, TOP, to - from, height - TOP);
  pen.globalAlpha = 1;
}

function bracket(pen, palette, x, side) {
  pen.fillStyle = palette.text;
  pen.fillRect(side > 0 ? x : x - 2, 2, 2, TOP - 3);
  pen.fillRect(side > 0 ? x : x - 7, 2, 7, 2);
  pen.fillRect(side > 0 ? x : x - 7, TOP - 3, 7, 2);
}

/** The window the question is about: a band under the ruler with its name. */
function asked(pen, { window, palette, height }, question) {
  const left = window.x(question.start);
  const right = Math.max(left + 2, window.x(question.end));
  pen.fillStyle = palette.accent;
  pen.globalAlpha = 0.06;
  pen.fillRect(left, TOP, right - left, height - TOP);
  pen.globalAlpha = 1;
  pen.fillRect(left, TOP - 1, right - left, 3);
  pen.fillRect(left, TOP, 1, 7);
  pen.fillRect(right - 1, TOP, 1, 7);
  name(pen, palette, `Question ${question.number}`, Math.max(left, 0), right);
}

/** The question's name on the band of the shots, where it hides no mark. */
function name(pen, palette, words, left, right) {
  pen.font = `600 10px ${palette.font}`;
  const wide = pen.measureText(words).width + LABEL_PX;
  if (right - left < wide) return;
  pen.fillRect(left, TOP - BAND, wide, BAND);
  pen.fillStyle = palette.dark ? "#0b1524" : "#fff";
  pen.textBaseline = "middle";
  pen.textAlign = "left";
  pen.fillText(words, left + LABEL_PX / 2, TOP - BAND / 2);
}

/** A ring around the bar of an event that the proof uses; where it is not there any more, its place is dashed. */
function ring(pen, timeline, mark) {
  const { window, store, palette } = timeline;
  const event = store.get("event", mark.id);
  const row = event ?? mark;
  const top = timeline.barTop(row);
  if (top === null || top < timeline.panes.events.top - BAR) return;
  const [left, right] = barSpan(window, row);
  if (right < 0 || left > window.width) return;
  pen.strokeStyle = event ? palette.text : palette.warn;
  pen.lineWidth = 2;
  if (!event) pen.setLineDash([3, 3]);
  pen.beginPath();
  pen.roundRect(left - 2.5, top - 2.5, right - left + 5, BAR + 5, 4);
  pen.stroke();
  pen.setLineDash([]);
  pen.lineWidth = 1;
}
