// The panel of a person: name, colour, where they look now, who they might also be, and their tracklets.

import { h, icon, iconButton, once } from "../dom.js";
import { sampleMethod } from "../method.js";
import { CORRECTION_WORDS, KIND_WORDS } from "../vocabulary.js";

const MANY_TRACKLETS = 60;
const UNKNOWN_ANGLE = -128;

export function personPanel(inspector, person) {
  const { store } = inspector;
  const mayEdit = store.may("annotate");
  const proposals = openProposals(store).filter(
    (one) => store.rootOf(one.first) === person.id || store.rootOf(one.second) === person.id,
  );
  return [
    head(inspector, person, mayEdit),
    proposals.length > 0 &&
      inspector.section(
        "The same person?",
        proposals.map((one) => proposalCard(inspector, one)),
      ),
    gazeSection(inspector, person, mayEdit),
    mayEdit && identitySection(inspector, person),
    trackletSection(inspector, person, mayEdit),
  ];
}

function head(inspector, person, mayEdit) {
  const { store, actions, palette } = inspector;
  const colours = palette.people.map((colour, i) =>
    h("button", {
      type: "button",
      class: "swatch",
      style: { "--who": colour },
      "aria-label": `Colour ${i + 1}`,
      "aria-pressed": String(palette.ofPerson(person).toLowerCase() === colour.toLowerCase()),
      onclick: () => actions.people.colour(person.id, i === person.number % 20 ? "" : colour.toLowerCase()),
    }),
  );
  const aliases = store.aliasesOf(person.id);
  return h(
    "div",
    { class: "person-head" },
    h(
      "div",
      { class: "person-name" },
      inspector.timeline.thumbs?.element(person.id, "large") ??
        h("span", { class: "tl-face", style: { "--who": palette.ofPerson(person) }, text: String(person.number) }),
      h(
        "div",
        { class: "field" },
        h("label", { for: "person-name", text: `Person ${person.number}` }),
        h("input", {
          id: "person-name",
          value: person.name,
          maxlength: 80,
          placeholder: "Name or label",
          disabled: !mayEdit,
          "data-focus": "person-name",
          onchange: (event) => {
            const { value } = event.target;
            event.target.blur();
            actions.people.rename(person.id, value);
          },
        }),
      ),
    ),
    mayEdit &&
      h("details", { class: "colours" }, h("summary", { text: "Colour" }), h("div", { class: "swatches" }, colours)),
    aliases.length > 0 &&
      h("p", {
        class: "dim",
        text: `Merged into this person: ${aliases.map((alias) => alias.name || `Person ${alias.number}`).join(", ")}.`,
      }),
  );
}

// ---- Identity proposals ----

export function openProposals(store) {
  return [...store.all("identity")]
    .filter((one) => one.state === "open" && store.rootOf(one.first) !== store.rootOf(one.second))
    .sort((a, b) => b.similarity - a.similarity);
}

export function proposalCard(inspector, proposal) {
  const { store, actions, player } = inspector;
  const go = (id) => {
    const tracklet = store.trackletsOf(id)[0];
    if (tracklet) player.seek(Math.floor((tracklet.start + tracklet.end) / 2));
    actions.selectPerson(id);
  };
  const who = (id) =>
    h(
      "button",
      { type: "button", class: "who-person", onclick: () => go(id), title: "Show this person" },
      inspector.chip(id),
    );
  return h(
    "div",
    { class: "proposal", data: { about: `identity:${proposal.id}` } },
    h(
      "div",
      { class: "proposal-pair" },
      who(proposal.first),
      icon("merge", true),
      who(proposal.second),
      h("span", { class: "dim mono", title: "Similarity of their faces", text: proposal.similarity.toFixed(2) }),
    ),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Same person", "check", () => actions.people.answerIdentity(proposal.id, "same"), {
          "data-focus": `same-${proposal.id}`,
        }),
        inspector.button("Different", "x", () => actions.people.answerIdentity(proposal.id, "different"), {
          "data-focus": `different-${proposal.id}`,
        }),
      ),
  );
}

// ---- Gaze ----

function gazeSection(inspector, person, mayEdit) {
  const { store, actions, player } = inspector;
  const frame = player.frame;
  const said = store.correctionAt(person.id, frame);
  const seen = store.trackletsOf(person.id).some((tracklet) => tracklet.start <= frame && frame < tracklet.end);
  const words = said ? saidWords(store, said) : estimatedWords(inspector, person, frame);
  if (!mayEdit) return inspector.section("Looks at", h("p", { text: words }));
  const others = store.people.filter((one) => one.id !== person.id && store.isPresent(one.id, frame, frame + 1));
  const say = (fields) => () => actions.gaze.correct(person.id, fields);
  const [start, end] = seen ? actions.gaze.spanOf(person.id) : [frame, frame];
  return inspector.section(
    "Looks at",
    h("p", { text: words }),
    seen &&
      h(
        "div",
        { class: "gaze-choices" },
        others.map((one) =>
          h(
            "button",
            {
              type: "button",
              class: "who-person",
              onclick: once(say({ kind: "person", target_person: one.id })),
              "data-focus": `gaze-${one.id}`,
            },
            inspector.chip(one.id),
          ),
        ),
        inspector.button("Camera", null, say({ kind: "camera" }), { "data-focus": "gaze-camera" }),
        inspector.button("Off screen", null, say({ kind: "off" }), { "data-focus": "gaze-off" }),
        inspector.button("Unusable", null, say({ kind: "unusable" }), { "data-focus": "gaze-unusable" }),
        said && inspector.button("Clear", "trash", () => actions.gaze.clear(person.id), { "data-focus": "gaze-clear" }),
      ),
    seen &&
      h("p", {
        class: "dim",
        text: `${store.marked ? "Over the marked span" : "For this sample"}: frames ${start} to ${end - 1}. Or drag the gaze point in the picture; a marked span makes it last.`,
      }),
    !seen && h("p", { class: "dim", text: "Not in the picture at this frame." }),
  );
}

function saidWords(store, said) {
  const whom = said.kind === "person" ? store.personName(said.target_person) : CORRECTION_WORDS[said.kind];
  return `${whom} (set by hand, frames ${said.start} to ${said.end - 1})`;
}

function estimatedWords(inspector, person, frame) {
  const { store, overlay } = inspector;
  const record = overlay.samples?.at(frame)?.find((one) => store.personOf(one.track, frame) === person.id);
  if (!record?.kind) return "No estimate here.";
  const target = record.kind === 1 && record.target !== null ? store.personOf(record.target, frame) : null;
  const whom = target ? store.personName(target) : KIND_WORDS[record.kind];
  const angles = record.yaw === UNKNOWN_ANGLE ? "" : `, yaw ${record.yaw}°, pitch ${record.pitch}°`;
  return `${whom} (${sampleMethod(store.run, record)}; estimated at frame ${record.gazeFrame}, confidence ${Math.round(record.confidence * 100)} %${angles})`;
}

// ---- Merge and split ----

function identitySection(inspector, person) {
  const { store, actions, player } = inspector;
  const others = store.people.filter((one) => one.id !== person.id);
  const choose = h(
    "select",
    {
      "aria-label": "Merge into",
      class: "who-add",
      "data-focus": "merge",
      onchange: (event) => {
        const into = event.target.value;
        event.target.blur();
        if (into) actions.people.merge(person.id, into);
      },
    },
    h("option", { value: "", text: "Is really… (merge)" }),
    others.map((one) => h("option", { value: one.id, text: `${one.number}  ${store.personName(one.id)}` })),
  );
  return inspector.section(
    "Identity",
    choose,
    inspector.button(`Somebody else from frame ${player.frame} on`, "split", () => actions.people.split(person.id), {
      title: "Split at the playhead (X)",
      "data-focus": "split",
    }),
  );
}

// ---- Tracklets ----

function trackletSection(inspector, person, mayEdit) {
  const { store } = inspector;
  const all = store.trackletsOf(person.id);
  if (!all.length)
    return inspector.section("Tracklets", h("p", { class: "dim", text: "This run does not see this person." }));
  const near = nearest(all, inspector.player.frame);
  return inspector.section(
    `Tracklets (${all.length})`,
    h(
      "ul",
      { class: "tracklets" },
      near.map((tracklet) => trackletRow(inspector, person, tracklet, mayEdit)),
    ),
    all.length > near.length && h("p", { class: "dim", text: `The ${near.length} nearest to the playhead are shown.` }),
  );
}

function nearest(tracklets, frame) {
  if (tracklets.length <= MANY_TRACKLETS) return tracklets;
  const at = tracklets.findIndex((tracklet) => tracklet.end > frame);
  const first = Math.max(
    0,
    Math.min((at < 0 ? tracklets.length : at) - MANY_TRACKLETS / 2, tracklets.length - MANY_TRACKLETS),
  );
  return tracklets.slice(first, first + MANY_TRACKLETS);
}

function trackletRow(inspector, person, tracklet, mayEdit) {
  const { store, actions, player } = inspector;
  const inside = tracklet.start <= player.frame && player.frame < tracklet.end;
  const assign = h(
    "select",
    {
      "aria-label": `Person of track ${tracklet.track}`,
      onchange: (event) => {
        const { value } = event.target;
        event.target.blur();
        if (value) actions.people.assignTracklet(tracklet, value);
      },
    },
    h("option", { value: "", text: "Move to…" }),
    store.people
      .filter((one) => one.id !== person.id)
      .map((one) => h("option", { value: one.id, text: `${one.number}  ${store.personName(one.id)}` })),
  );
  return h(
    "li",
    { class: inside ? "tracklet in-focus" : "tracklet" },
    h("button", {
      type: "button",
      class: "tracklet-span mono",
      title: `Track ${tracklet.track}${tracklet.human ? ", set by hand" : ""}`,
      text: `${tracklet.start} – ${tracklet.end - 1}`,
      onclick: () => player.seek(tracklet.start),
    }),
    tracklet.human && icon("edit", true),
    mayEdit && assign,
    mayEdit && iconButton("person-add", "Make a new person of this tracklet", () => actions.people.splitTracklet(tracklet)),
  );
}
