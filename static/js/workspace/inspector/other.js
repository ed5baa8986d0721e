// Panels of gaze corrections and coverage, and the overview that is shown while nothing is selected.

import { h, icon } from "../dom.js";
import { CORRECTION_WORDS, GESTURE_TYPES, TYPES } from "../vocabulary.js";
import { lookingSeconds } from "../looks.js";
import { backendWords, gazeMethod } from "../method.js";
import { openProposals, proposalCard } from "./person.js";

const MANY_PEOPLE = 20;

export function correctionPanel(inspector, row) {
  const { store, actions } = inspector;
  const whom = row.kind === "person" ? store.personName(row.target_person) : CORRECTION_WORDS[row.kind];
  return [
    h("header", { class: "inspector-head" }, icon("target"), h("h2", { text: "Gaze, set by hand" })),
    inspector.section("Who", inspector.chip(row.person), h("p", { text: `looks at ${whom}` })),
    inspector.section("When", inspector.spanFields("correction", row)),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Delete", "trash", () => actions.remove(), { "data-focus": "delete" }),
      ),
  ];
}

export function coveragePanel(inspector, row) {
  const { store, actions } = inspector;
  const whom = row.persons.length ? row.persons.map((id) => inspector.chip(id)) : [h("p", { text: "Everybody" })];
  return [
    h(
      "header",
      { class: "inspector-head" },
      icon("coverage"),
      h("h2", { text: `${row.modality === "gaze" ? "Gaze" : "Gesture"} coverage` }),
    ),
    h("p", {
      class: "dim",
      text: `Somebody declared: every ${row.modality} event of these people inside this span is marked. What is not marked here did not happen.`,
    }),
    inspector.section("Who", ...whom),
    inspector.section("When", inspector.spanFields("coverage", row)),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Delete", "trash", () => actions.remove(), { "data-focus": "delete" }),
      ),
  ];
}

export function overviewPanel(inspector) {
  const { store } = inspector;
  const proposals = openProposals(store);
  return [
    h("header", { class: "inspector-head" }, icon("videos"), h("h2", { text: store.video.name })),
    progressSection(inspector),
    spanSection(inspector),
    proposals.length > 0 &&
      inspector.section(
        `The same person? (${proposals.length})`,
        proposals.slice(0, 6).map((one) => proposalCard(inspector, one)),
      ),
    matrixSection(inspector),
    factsSection(inspector),
  ];
}

function progressSection(inspector) {
  const { store, actions } = inspector;
  const counts = { proposed: 0, confirmed: 0, rejected: 0 };
  const byType = new Map();
  for (const event of store.ordered) {
    counts[event.status]++;
    if (event.status !== "rejected") byType.set(event.type, (byType.get(event.type) ?? 0) + 1);
  }
  const total = store.ordered.length;
  if (!total) return nothingYet(inspector);
  const done = counts.confirmed + counts.rejected;
  return inspector.section(
    "Review",
    h(
      "div",
      { class: "progress", role: "img", "aria-label": `${done} of ${total} reviewed` },
      h("span", { class: "progress-ok", style: { width: `${(100 * counts.confirmed) / total}%` } }),
      h("span", { class: "progress-no", style: { width: `${(100 * counts.rejected) / total}%` } }),
    ),
    h(
      "p",
      {},
      h("b", { text: String(counts.proposed) }),
      ` to review, ${counts.confirmed} confirmed, ${counts.rejected} rejected`,
    ),
    counts.proposed > 0 &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Next to review", "event-next", () => actions.nextUnreviewed(), {
          class: "button button-small button-primary",
          title: "N",
          "data-focus": "next",
        }),
      ),
    gesturesOffer(inspector),
    masksOffer(inspector),
    h(
      "ul",
      { class: "counts" },
      [...byType]
        .sort()
        .map(([type, count]) =>
          h("li", {}, icon(type, true), h("span", { text: TYPES[type].word }), h("b", { text: String(count) })),
        ),
    ),
  );
}

/** Have a detector look for gestures; again, where it has: only its proposals without a word on them may change. */
function gesturesOffer(inspector) {
  const { store, actions } = inspector;
  const some = store.ordered.some((event) => GESTURE_TYPES.includes(event.type));
  if (!store.run || !store.video.has_pixels || !store.may("perceive")) return null;
  return h(
    "div",
    { class: "inspector-buttons" },
    inspector.button(some ? "Look for gestures again" : "Look for gestures", "pointing", () => actions.emit("gestures"), {
      title: "Pointing, showing, giving and reaching, by rules on arms and hands; takes about as long as perception",
      "data-focus": "gestures",
    }),
  );
}

/** Have masks of the people made where there are none. */
function masksOffer(inspector) {
  const { store, actions } = inspector;
  if (!store.run || store.run.masks || !store.video.has_pixels || !store.may("perceive")) return null;
  return h(
    "div",
    { class: "inspector-buttons" },
    inspector.button("Make masks of people", "layers", () => actions.emit("masks"), {
      title: "A mask of everybody at each sample, approximate; takes about half as long as perception",
      "data-focus": "masks",
    }),
  );
}

/** What will be here, and the one next thing to do. */
function nothingYet(inspector) {
  const { store, actions } = inspector;
  const offer = !store.run && store.video.has_pixels && store.may("perceive");
  const words = store.run
    ? "The rules propose no event in this video."
    : "People, where they look, and the events between them will be here once perception has run.";
  const byHand =
    "By hand: mark a span with I and O, press M, T, F, C or S for the type, then the people's number keys.";
  const buttons =
    offer &&
    h(
      "div",
      { class: "inspector-buttons" },
      inspector.button("Run perception", "eye", () => actions.emit("perceive"), {
        class: "button button-small button-primary",
        "data-focus": "perceive",
      }),
    );
  const mayMake = store.people.length > 0 && store.may("annotate");
  return inspector.section(
    "Events",
    h("p", { text: words }),
    buttons,
    gesturesOffer(inspector),
    masksOffer(inspector),
    mayMake && h("p", { class: "dim", text: byHand }),
  );
}

function spanSection(inspector) {
  const { store, actions } = inspector;
  if (!store.marked) return null;
  const [start, end] = store.marked;
  const seconds = store.times.zeroed(end) - store.times.zeroed(start);
  return inspector.section(
    "Marked span",
    h("p", { class: "mono", text: `${start} – ${end - 1}   ${seconds.toFixed(2)} s` }),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Gaze covered", "coverage", () => actions.cover("gaze"), {
          title: "Every gaze event in it is marked (V)",
          "data-focus": "cover",
        }),
        inspector.button("Gestures covered", "coverage", () => actions.cover("gesture"), {
          title: "Shift+V",
          "data-focus": "cover-gesture",
        }),
        inspector.button("Clear", "x", () => store.setSpan(null, null)),
      ),
  );
}

/** Who looks at whom, how long, over the marked span or the part in view. */
function matrixSection(inspector) {
  const { store, timeline } = inspector;
  if (!timeline.ribbon) return null;
  const span = store.marked ?? [0, store.times.frames];
  const people = store.people.filter((person) => store.isPresent(person.id, ...span)).slice(0, MANY_PEOPLE);
  const all = people.map((person) => {
    const sums = lookingSeconds(store, timeline.ribbon, person.id, span);
    return people.map((other) => sums.get(other.id) ?? 0);
  });
  // only who looks at somebody or is looked at
  const kept = people.map((_, i) => i).filter((i) => all[i].some(Boolean) || all.some((row) => row[i]));
  if (kept.length < 2) return null;
  return matrixTable(
    inspector,
    kept.map((i) => people[i]),
    kept.map((i) => kept.map((j) => all[i][j])),
  );
}

function matrixTable(inspector, people, seconds) {
  const { store, palette } = inspector;
  const most = Math.max(0.001, ...seconds.flat());
  const headRow = h(
    "tr",
    {},
    h("td"),
    people.map((person) => h("th", { scope: "col", text: String(person.number), title: store.personName(person.id) })),
  );
  const rows = people.map((person, i) =>
    h(
      "tr",
      {},
      h("th", {
        scope: "row",
        text: String(person.number),
        title: store.personName(person.id),
        style: { "--who": palette.ofPerson(person) },
      }),
      people.map((other, j) =>
        h("td", {
          class: i === j ? "self" : "cell",
          style: i === j ? {} : { "--share": `${Math.round(100 * (seconds[i][j] / most))}%` },
          title:
            i === j
              ? undefined
              : `${store.personName(person.id)} looks at ${store.personName(other.id)}: ${seconds[i][j].toFixed(1)} s`,
          text:
            i !== j && seconds[i][j] >= 0.05
              ? seconds[i][j] < 10
                ? seconds[i][j].toFixed(1)
                : String(Math.round(seconds[i][j]))
              : "",
        }),
      ),
    ),
  );
  return inspector.section(
    `Who looks at whom (s, ${store.marked ? "marked span" : "whole video"})`,
    h("div", { class: "matrix-box" }, h("table", { class: "matrix" }, h("thead", {}, headRow), h("tbody", {}, rows))),
  );
}

function factsSection(inspector) {
  const { store } = inspector;
  const { video, run, times } = store;
  const rate = times.frames / times.duration;
  const facts = [
    ["Picture", video.has_pixels ? `${video.width} × ${video.height}` : "none, features only"],
    ["Frames", `${times.frames}, mean ${rate.toFixed(2)} a second`],
    ["Shots", String(store.shots.length)],
    run && ["Profile", run.profile],
    run && ["Gaze", `${gazeMethod(run).short}, ${run.rate} samples a second`],
    run?.tracking_rate && ["Tracking", `${run.tracking_rate} frames a second`],
    run && backendWords(run) && ["Backends", backendWords(run)],
  ].filter(Boolean);
  return inspector.section(
    "About",
    h(
      "dl",
      { class: "facts" },
      facts.map(([name, value]) => h("div", {}, h("dt", { text: name }), h("dd", { text: value }))),
    ),
    run && h("p", { class: "dim", text: gazeMethod(run).long }),
    (run?.notes ?? []).map((note) => h("p", { class: "dim", text: note })),
    (video.warnings ?? []).map((warning) => h("p", { class: "hint-warn", text: warning })),
  );
}
