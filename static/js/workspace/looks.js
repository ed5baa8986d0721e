// Whom a person looks at over a span: by a human's word where there is one, else as the run estimated it. Where several
// corrections cover a frame, the one changed last counts, as in the ribbon and over the picture.

import { laneOfCode } from "./ribbon.js";

/** Seconds that `person` looks at each person within [start, end): Map(person id -> seconds). */
export function lookingSeconds(store, ribbon, person, [start, end]) {
  const sums = new Map();
  const add = (target, from, to) => {
    const seconds = store.times.zeroed(to) - store.times.zeroed(from);
    if (seconds > 0) sums.set(target, (sums.get(target) ?? 0) + seconds);
  };
  const said = saidSpans(store, person, start, end);
  for (const { from, to, row } of said)
    if (row.kind === "person" && row.target_person) add(store.rootOf(row.target_person), from, to);
  ribbon.lane(store, person).runs(start, end, (from, to, code) => {
    const target = store.people[laneOfCode(code)];
    if (!target) return;
    let at = Math.max(from, start);
    const last = Math.min(to, end);
    for (const span of said) {
      if (span.to <= at || span.from >= last) continue;
      add(target.id, at, Math.max(at, span.from));
      at = span.to;
    }
    add(target.id, at, Math.max(at, last));
  });
  return sums;
}

/** Pieces of [start, end) that a correction speaks for, in order: [{from, to, row}]. */
function saidSpans(store, person, start, end) {
  const rows = store.correctionsOf(person).filter((row) => row.start < end && row.end > start);
  const edges = rows.flatMap((row) => [Math.max(row.start, start), Math.min(row.end, end)]);
  const bounds = [...new Set(edges)].sort((a, b) => a - b);
  return bounds.slice(0, -1).flatMap((from, i) => {
    const row = store.correctionAt(person, from);
    return row ? [{ from, to: bounds[i + 1], row }] : [];
  });
}
