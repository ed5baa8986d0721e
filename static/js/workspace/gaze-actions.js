// What a person can say of gaze: where somebody looks, over a span.

import { clamp, uuid } from "./dom.js";

export class GazeActions {
  constructor(actions) {
    Object.assign(this, { actions, store: actions.store });
    this.samples = null; // Samples of the run, once they are there
  }

  /** The span a gaze correction speaks for: the marked one, else the sample at the playhead. */
  spanOf(person) {
    const { store } = this;
    const frame = this.actions.player.frame;
    const [low, high] = store.shotAt(store.marked ? store.marked[0] : frame);
    if (store.marked) return [Math.max(low, store.marked[0]), Math.min(high, store.marked[1])];
    const tracklet = store.trackletsOf(person).find((t) => t.start <= frame && frame < t.end);
    const span = (tracklet && this.samples?.sampleSpan(tracklet.track, frame)) ?? [frame, frame + 1];
    return [clamp(span[0], low, high - 1), clamp(span[1], low + 1, high)];
  }

  /** Say where a person looks: {kind, x?, y?, target_person?}. What was said before inside the span gives way. */
  correct(person, said) {
    const [start, end] = this.spanOf(person);
    const edits = this.#makeRoom(person, start, end);
    const fields = {
      person,
      start,
      end,
      kind: said.kind,
      x: said.x ?? null,
      y: said.y ?? null,
      target_person: said.target_person ?? null,
    };
    const records = this.actions.commitAll([
      ...edits,
      { kind: "correction.create", object: uuid(), fields, label: `where ${this.store.personName(person)} looks` },
    ]);
    if (records.length)
      this.actions.say(
        `${this.store.personName(person)}: ${end - start} frame${end - start > 1 ? "s" : ""} corrected, ${start} to ${end - 1}.`,
      );
  }

  clear(person) {
    const [start, end] = this.spanOf(person);
    const edits = this.#makeRoom(person, start, end);
    if (edits.length) this.actions.commitAll(edits);
    else this.actions.say("No gaze correction here.");
  }

  /** Edits that take every correction of a person out of [start, end). */
  #makeRoom(person, start, end) {
    const label = "make room for a gaze correction";
    const edits = [];
    for (const row of this.store.correctionsOf(person)) {
      if (row.end <= start || row.start >= end) continue;
      if (row.start >= start && row.end <= end) edits.push({ kind: "correction.delete", object: row.id, label });
      else if (row.start < start)
        edits.push({ kind: "correction.update", object: row.id, fields: { end: start }, label });
      else edits.push({ kind: "correction.update", object: row.id, fields: { start: end }, label });
      if (row.start < start && row.end > end) {
        const { id, version, ...fields } = row;
        edits.push({ kind: "correction.create", object: uuid(), fields: { ...fields, start: end }, label });
      }
    }
    return edits;
  }
}
