/** The machine's verdict: which rule led to it, with which numbers, and one click away everything it rests on. */

import { h, moment } from "../workspace/dom.js";
import { known, label, valueWords } from "./labels.js";
import { foreignWords } from "./strip.js";
import { MACHINE, RELEVANCE, ROLES, VERDICTS, queryName, scopeWords } from "./words.js";

const NOTE = "A mask shows that a referent exists, not that the claim is true.";

export function badge({ name }) {
  const { word, kind } = MACHINE[name] ?? { word: name, kind: "off" };
  return h("span", { class: `badge badge-${kind} machine-badge`, text: word });
}

export function machineWords(claim, store) {
  const { machine } = claim;
  const wordings = claim.reprompts.filter((one) => one.machine);
  return [
    h(
      "p",
      { class: "machine-line" },
      badge(machine),
      h("span", { class: "mono dim", text: machine.rule, title: "The rule that led to it" }),
    ),
    h("p", { text: machine.sentence }),
    numbers(machine.numbers),
    wordings.map((one) =>
      h(
        "p",
        { class: "machine-line" },
        h("b", { text: `“${one.text}”` }),
        badge(one.machine),
        h("span", { class: "dim", text: one.machine.sentence }),
      ),
    ),
    h("p", { class: "dim machine-note", text: NOTE }),
    provenance(claim, store),
  ]
    .flat()
    .filter(Boolean);
}

const isNested = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** The plain ones; what is told of each query stands with the provenance. */
function numbers(found) {
  const pairs = known(found).filter(([, value]) => !isNested(value));
  if (!pairs.length) return null;
  return h(
    "dl",
    { class: "machine-numbers" },
    pairs.map(([name, value]) =>
      h("div", {}, h("dt", { text: label(name) }), h("dd", { class: "mono", text: valueWords(value) })),
    ),
  );
}

/** Model, prompt hash, backend, weights, thresholds, frames looked at. */
function provenance(claim, store) {
  const grounder = claim.grounding?.provenance ?? {};
  const looked = claim.grounding?.looked ?? [];
  const less = claim.queries.filter((query) => scopeWords(query));
  const parts = {
    Verdict: claim.machine.provenance,
    Numbers: nested(claim),
    Summariser: store.task.package?.provenance,
    Grounder: grounder,
    "Not all was looked for": less.map((query) => `“${queryName(query)}”: ${scopeWords(query)}`).join(". "),
    "Frames looked at": looked.length ? framesWords(claim, looked) : "none",
    Notes: claim.grounding?.notes?.length ? claim.grounding.notes.join(" ") : null,
    "Asked again, evidence hidden": deletion(claim, store.task.deletion),
  };
  return h(
    "details",
    { class: "provenance", id: "provenance" },
    h("summary", {}, h("kbd", { text: "I" }), " Where it comes from"),
    h(
      "dl",
      { class: "facts" },
      Object.entries(parts)
        .filter(([, value]) => value)
        .flatMap(([name, value]) => [
          h("dt", { text: name }),
          h("dd", {}, typeof value === "string" ? value : tree(value)),
        ]),
    ),
  );
}

/** The deletion test of the response; told with the claims whose masks were hidden, once the audit is finished. */
function deletion(claim, record) {
  if (!record?.answers || !record.decides.claims.includes(claim.name)) return null;
  const { plain, hidden, control } = record.answers;
  return {
    "as it is": plain,
    "this hidden": hidden,
    "as much hidden elsewhere": control,
    frames: record.decides.frames.join(", "),
    model: record.decides.asker.model ?? record.decides.asker.name,
  };
}

/** The numbers of queries and of the statement; a query by what it looks for, not by its id. */
function nested({ machine, queries }) {
  const names = new Map(queries.map((query) => [query.id, `${ROLES[query.role]} “${queryName(query)}”`]));
  const pairs = known(machine.numbers).filter(([, value]) => isNested(value));
  const named = (found) => Object.fromEntries(known(found).map(([id, one]) => [names.get(id) ?? id, one]));
  return pairs.length
    ? Object.fromEntries(pairs.map(([name, value]) => [name, name === "queries" ? named(value) : value]))
    : null;
}

function tree(value) {
  if (!isNested(value)) return h("span", { class: "mono", text: valueWords(value) });
  return h(
    "dl",
    { class: "tree" },
    known(value).map(([name, one]) => h("div", {}, h("dt", { text: label(name) }), h("dd", {}, tree(one)))),
  );
}

/** 33: 17 in the span, 16 outside (1 of the 16 frames outside lies in another shot): which. */
function framesWords({ place, grounding }, looked) {
  const inside = (grounding.inside ?? []).filter(Boolean).length;
  const shots = place && foreignWords(place);
  const where = place?.timed
    ? `${inside} in the span, ${looked.length - inside} outside${shots ? ` (${shots})` : ""}`
    : "in the whole clip";
  return `${looked.length}, ${where}: ${shorten(looked)}`;
}

/** Ascending frames as runs with their step: 100-160 by 4, 300. */
function shorten(frames) {
  const runs = [];
  for (const frame of frames) {
    const run = runs.at(-1);
    if (run && run.length > 1 && frame - run.at(-1) === run[1] - run[0]) run.push(frame);
    else if (run?.length === 1) run.push(frame);
    else runs.push([frame]);
  }
  return runs
    .map((run) => (run.length < 3 ? run.join(", ") : `${run[0]}–${run.at(-1)} by ${run[1] - run[0]}`))
    .join("; ");
}

/** What others said: known only after the audit is finished, or to who decides a dispute. */
export function otherWords(claim) {
  const said = claim.others ?? [];
  if (!said.length && !claim.adjudication) return [];
  const line = (who, { verdict, relevance, reason, changed, created }) =>
    h(
      "li",
      {},
      h("b", { text: who }),
      ` ${VERDICTS[verdict].word}${relevance ? `, ${RELEVANCE[relevance].word.toLowerCase()}` : ""}`,
      reason && h("span", { text: `: ${reason}` }),
      h("time", { class: "dim", text: ` ${moment(changed ?? created)}` }),
    );
  return [
    h("h3", { text: "What people said" }),
    h(
      "ul",
      { class: "others", id: "others" },
      said.map((one) => line(one.user, one)),
      claim.adjudication && line(`${claim.adjudication.user} decided:`, claim.adjudication),
    ),
  ];
}
