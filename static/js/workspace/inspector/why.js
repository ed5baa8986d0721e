// "Why was this proposed": the rule in words, its numbers against their limits, and the gaze of the people around it.

import { h } from "../dom.js";
import { Window } from "../timeline/window.js";
import { LANE, drawPerson } from "../timeline/people.js";
import { TYPES } from "../vocabulary.js";
import { gestureReason, gestureWhy, otherNumbers } from "./gesture.js";

const two = (value) => value.toFixed(2);
const known = (value) => Number.isFinite(value);
/** A part of a sentence around numbers; nothing when one of them was not kept. */
const part = (numbers, words) => (numbers.every(known) ? words(...numbers) : "");
const samplesOf = (d) => d.num_samples ?? d.num_frames;

// Per type: the rule as a sentence, and what is measured against which limit: [name, value, limit, unit, least or most].
// The two presets keep different numbers; what is not there is left out. Lengths are shares of the picture's longer side.
const RULES = {
  sudden_gaze_shift: {
    words: (d) =>
      part(
        [d.max_displacement, d.window_s],
        (moved, window) =>
          `Seen from the face, the gaze moved by ${two(moved)} of the picture's longer side within ${window} s.`,
      ) || part([d.max_velocity], (speed) => `The gaze moved at ${two(speed)} of the longer side a second.`),
    meters: (d) => [
      known(d.max_displacement)
        ? ["Displacement", d.max_displacement, d.threshold, "", "least"]
        : ["Velocity", d.max_velocity, d.threshold, "/s", "least"],
    ],
  },
  mutual_gaze: {
    words: (d, seconds) =>
      `Each looked at the other for ${two(d.duration ?? seconds)} s${part([samplesOf(d)], (count) => `, on ${count} samples`)}.`,
    meters: (d, seconds) => [["Duration", d.duration ?? seconds, d.threshold, "s", "least"]],
  },
  joint_attention: {
    words: (d, seconds) =>
      `${d.num_persons ?? "Several"} people looked ${d.target_person ? "at one person" : "at one place"} for ${two(d.duration ?? seconds)} s.`,
    meters: (d, seconds) => [
      known(d.mean_distance)
        ? ["Apart, mean", d.mean_distance, d.threshold, "", "most"]
        : ["Convergence", d.max_convergence, d.threshold, "", "least"],
      ["Duration", d.duration ?? seconds, d.shortest_s, "s", "least"],
    ],
  },
  gaze_following: {
    words: (d) =>
      `The follower's gaze came to where the leader's had come${part([d.lag_seconds], (lag) => ` ${two(lag)} s`)} before${part([d.shortest_lag_s, d.longest_lag_s], (least, most) => `; the rule takes ${least} to ${most} s`)}.`,
    meters: (d) => [
      ["Lag", d.lag_seconds, d.longest_lag_s, "s", "most"],
      ["Apart", d.gaze_distance, d.threshold, "", "most"],
    ],
  },
  attention_capture: {
    words: (d) =>
      `The gaze of ${d.num_persons ?? "several"} people jumped to one place${part([d.window_s], (window) => ` within ${window} s`)}.`,
    meters: (d) => [
      known(d.mean_displacement)
        ? ["Displacement", d.mean_displacement, d.displacement_threshold, "", "least"]
        : ["Velocity", d.mean_velocity, d.threshold, "/s", "least"],
      ["Apart", d.mean_distance, d.threshold, "", "most"],
    ],
  },
};

/** Why an event was proposed, as one sentence; empty where the rule's numbers are not known. */
export function reason(store, event, details) {
  if (TYPES[event.type].modality === "gesture") return gestureReason(store, event, details);
  const rule = RULES[event.type];
  if (!rule || !details || !Object.keys(details).length) return "";
  return rule.words(details, store.times.zeroed(event.end) - store.times.zeroed(event.start));
}

/** Elements for the "why" section. `details` may be empty: then only the plot is shown. */
export function whySection(inspector, event, details) {
  const { store } = inspector;
  const seconds = store.times.zeroed(event.end) - store.times.zeroed(event.start);
  const rule = RULES[event.type];
  const told = details && Object.keys(details).length > 0;
  const words = reason(store, event, details);
  return [
    words && h("p", { text: words }),
    ...(told && rule
      ? rule.meters(details, seconds).filter(([, value, limit]) => known(value) && known(limit))
      : []
    ).map((meter) => meterRow(...meter)),
    ...(TYPES[event.type].modality === "gesture" ? gestureWhy(event, details) : []),
    plot(inspector, event),
    told && numbers(store, otherNumbers(details)),
  ];
}

function meterRow(label, value, limit, unit, side) {
  const full = Math.max(value, limit) * 1.25 || 1;
  const sign = side === "least" ? "≥" : "≤";
  return h(
    "div",
    { class: "meter" },
    h("span", { class: "meter-label", text: label }),
    h(
      "span",
      {
        class: "meter-bar",
        role: "img",
        "aria-label": `${label} ${two(value)} ${unit}, the rule asks for ${side === "least" ? "at least" : "at most"} ${limit} ${unit}`,
      },
      h("span", { class: "meter-fill", style: { width: `${(100 * value) / full}%` } }),
      h("span", { class: "meter-limit", style: { left: `${(100 * limit) / full}%` } }),
    ),
    h("span", { class: "mono", text: `${two(value)} ${sign} ${limit} ${unit}`.trim() }),
  );
}

/** Every number the rule kept, for who wants to check. */
function numbers(store, details) {
  const rows = [];
  for (const [name, value] of Object.entries(details)) {
    const words = name.replace(/_id$/, "").replaceAll("_", " ").replace(/ s$/, " (s)");
    const told = tell(store, value);
    if (told) rows.push(h("div", {}, h("dt", { text: words }), h("dd", { class: "mono", text: told })));
  }
  return h("details", { class: "numbers" }, h("summary", { text: "All numbers" }), h("dl", {}, rows));
}

function tell(store, value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number" && !known(value)) return "";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toFixed(3);
  if (typeof value === "string") return store.get("person", value) ? store.personName(value) : value;
  if (Array.isArray(value)) return value.map((one) => tell(store, one)).join(", ");
  return Object.entries(value)
    .map(([key, one]) => `${tell(store, key)} ${tell(store, one)}`)
    .join(", ");
}

/** The people's ribbons and velocities from a second before to a second after, with the event's span. */
function plot(inspector, event) {
  const { store, timeline, palette } = inspector;
  if (!timeline.ribbon || !event.participants.length) return null;
  const people = event.participants
    .map(([id]) => store.person(id))
    .filter(Boolean)
    .slice(0, 6);
  const width = Math.max(160, inspector.body.clientWidth - 82);
  const height = people.length * LANE + 4;
  const { times } = store;
  const view = new Window(times.frames, width);
  view.show(times.frameAt(Math.max(0, times.zeroed(event.start) - 1)), times.frameAt(times.zeroed(event.end) + 1));
  const canvas = h("canvas", {
    class: "why-plot",
    role: "img",
    "aria-label": "Gaze of the people in this event, from a second before it to a second after",
  });
  const ratio = devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  pen.fillStyle = palette.accent;
  pen.globalAlpha = 0.13;
  pen.fillRect(view.x(event.start), 0, view.x(event.end) - view.x(event.start), height);
  pen.globalAlpha = 1;
  people.forEach((person, i) =>
    drawPerson(pen, {
      window: view,
      store,
      ribbon: timeline.ribbon,
      palette,
      person,
      y: 2 + i * LANE,
      threshold: timeline.threshold,
      rate: timeline.run?.rate ?? 2,
    }),
  );
  pen.fillStyle = palette.accent;
  for (const edge of [event.start, event.end]) pen.fillRect(Math.round(view.x(edge)), 0, 1, height);
  const names = people.map((person) => h("span", { text: store.shortName(person.id) }));
  return h("div", { class: "why" }, h("div", { class: "why-names" }, names), canvas);
}
