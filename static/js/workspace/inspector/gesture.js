// Why a gesture was proposed: what it is about, the terms of its confidence with their weights, and the rounds of a
// refinement where a model proposed it.

import { h } from "../dom.js";

const TERMS = {
  form: "Looks at the hand on which the index finger points",
  straight: "How straight the arm is in the picture",
  aim: "How near the ray passes to the target",
  still: "How long it is held",
  held: "Looks on which the object is in the hand",
  up: "How far the object was brought up",
  score: "How sure the detector is of the object",
  meet: "How near the object came to the other's hand",
  way: "How much nearer it came",
  approach: "Share of the way to the object",
  touch: "How near the hand came to the object",
};
const SHOWN_ELSEWHERE = ["formula", "terms", "ray", "initiator_box", "target_kind", "target_description", "rounds"];

const known = (value) => Number.isFinite(value);
const hand = (d) => (d.hand === "left" || d.hand === "right" ? `the ${d.hand} hand` : "a hand that may be another's");

/** What the gesture is about, as its details say it: a person goes by name. */
export function targetWords(store, event, details) {
  const target = event.participants.find(([, role]) => role === "target");
  const said = details.target_description ?? "";
  if (target) return said ? `${store.personName(target[0])} (${said})` : store.personName(target[0]);
  if (details.target_kind === "person") return said || "a person";
  return said || (details.target_kind === "object" ? "an object" : "a place");
}

const VERBS = { pointing: "Pointing at", showing: "Showing to", giving: "Giving to", reaching: "Reaching for" };

/** One sentence; empty where nothing is known. */
export function gestureReason(store, event, details) {
  if (!details || !Object.keys(details).length) return "";
  const seconds = store.times.zeroed(event.end) - store.times.zeroed(event.start);
  const by = details.hand ? ` with ${hand(details)}` : "";
  const missed = known(details.angle_deg) ? `; the ray misses by ${details.angle_deg.toFixed(0)}°` : "";
  return `${VERBS[event.type]} ${targetWords(store, event, details)}${by}, for ${seconds.toFixed(2)} s${missed}.`;
}

/** Elements for the "why" section, beyond the sentence. */
export function gestureWhy(event, details) {
  if (!details) return [];
  const terms = Object.entries(details.terms ?? {}).filter(([, value]) => known(value));
  const rows = terms.map(([name, value]) => termRow(name, value));
  if (known(details.seen)) rows.push(termRow("seen", details.seen, "How well wrist and elbow are seen"));
  return [
    details.hand === "unsure" &&
      h("p", { class: "hint-warn", text: "Whose hand it is, is unsure: another person's is as near." }),
    ...rows,
    details.formula &&
      h("p", { class: "dim" }, "Confidence = ", h("span", { class: "mono", text: details.formula }), ". A heuristic, not a probability."),
    rounds(details.rounds),
  ];
}

function termRow(name, value, words = TERMS[name] ?? name) {
  return h(
    "div",
    { class: "meter", title: words },
    h("span", { class: "meter-label", text: name }),
    h(
      "span",
      { class: "meter-bar", role: "img", "aria-label": `${words}: ${value.toFixed(2)} of 1` },
      h("span", { class: "meter-fill", style: { width: `${100 * value}%` } }),
    ),
    h("span", { class: "mono", text: value.toFixed(2) }),
  );
}

/** Every round of a refinement: what the model said, and what its critic changed. */
function rounds(list) {
  if (!Array.isArray(list) || !list.length) return null;
  return h(
    "details",
    { class: "numbers" },
    h("summary", { text: `${list.length} round${list.length > 1 ? "s" : ""} of refinement` }),
    h(
      "ol",
      {},
      list.map((round) => h("li", { class: "mono", text: typeof round === "string" ? round : JSON.stringify(round) })),
    ),
  );
}

/** The details without what is shown in its own way. */
export function otherNumbers(details) {
  return Object.fromEntries(Object.entries(details).filter(([name]) => !SHOWN_ELSEWHERE.includes(name)));
}
