/**
 * Masks of the claims looked at: fetched when a claim comes into focus, decoded when a frame is drawn. Corrections lie over
 * what the grounder found: the newest one of (query, object, frame) counts, and one without a mask deletes it.
 */

import { Topics } from "../workspace/dom.js";
import { decode } from "../masks/rle.js";

const KEPT = 24; // claims whose masks are kept

const COLUMNS = ["object", "person", "score", "box", "area", "kind", "counts"];
const BLANK = { person: -1, kind: "mask" };
const WIDTH = 320; // of masks drawn where no grounder found any

export const keyOf = (query, object, frame) => `${query}|${object}|${frame}`;

/** Query of another wording: its ids are the wording's own. */
export const queryId = (id, reprompt) => (reprompt ? `${reprompt}/${id}` : id);

/** Masks of one claim, as GET /audit/claims/<id>/masks gives them. `size`: [height, width] of every mask. */
export class ClaimMasks {
  #bits = new Map(); // row -> Uint8Array
  #present = new Map(); // query -> frames

  constructor(columns, video) {
    this.size = columns.size?.[0] ? columns.size : sizeFor(video);
    this.frames = new Map(); // frame -> [{query, object, frame, person, score, box, kind, counts}]
    this.edits = new Map(); // key -> MaskEdit as the page shows it
    const queries = columns.query.map(({ id, reprompt }) => queryId(id, reprompt));
    for (const [i, frame] of columns.frame.entries()) {
      const row = { query: queries[columns.q[i]], frame };
      for (const name of COLUMNS) row[name] = columns[name][i];
      if (!this.frames.has(frame)) this.frames.set(frame, []);
      this.frames.get(frame).push(row);
    }
  }
  /** Show these corrections and no others. */
  correct(edits) {
    this.#present.clear();
    this.edits = new Map(edits.map((edit) => [keyOf(edit.query, edit.object, edit.frame), edit]));
  }

  /** What the grounder found, or undefined. */
  found(query, object, frame) {
    return this.frames.get(frame)?.find((row) => row.query === query && row.object === object);
  }

  edit(query, object, frame) {
    return this.edits.get(keyOf(query, object, frame));
  }

  /** Rows of a frame as they are shown: corrections in place of what they correct. */
  at(frame) {
    const rows = [];
    const seen = new Set();
    for (const row of this.frames.get(frame) ?? []) {
      const key = keyOf(row.query, row.object, frame);
      seen.add(key);
      const edit = this.edits.get(key);
      if (!edit || edit.action === "accept") rows.push(row);
      else if (edit.action === "draw") rows.push(corrected(row, edit));
    }
    for (const [key, edit] of this.edits)
      if (edit.frame === frame && edit.action === "draw" && !seen.has(key)) rows.push(corrected(BLANK, edit));
    return rows;
  }

  row(query, object, frame) {
    return this.at(frame).find((row) => row.query === query && row.object === object) ?? null;
  }

  /** Bits of a row, rows first. */
  bitsOf(row) {
    if (!this.#bits.has(row)) this.#bits.set(row, decode(row.counts, this.size));
    return this.#bits.get(row);
  }

  /** Numbers of a query's objects, corrections included. */
  objects(query) {
    const found = new Set();
    for (const rows of this.frames.values()) for (const row of rows) if (row.query === query) found.add(row.object);
    for (const edit of this.edits.values()) if (edit.query === query && edit.action === "draw") found.add(edit.object);
    return [...found].sort((a, b) => a - b);
  }

  /** Frames on which a query has a mask, ascending. */
  present(query) {
    if (!this.#present.has(query)) this.#present.set(query, this.#framesOf(query));
    return this.#present.get(query);
  }

  #framesOf(query) {
    const frames = new Set([...this.frames.keys(), ...[...this.edits.values()].map((edit) => edit.frame)]);
    return [...frames].filter((frame) => this.at(frame).some((row) => row.query === query)).sort((a, b) => a - b);
  }
}

const made = new WeakMap(); // correction -> its row: one row as long as the correction stands

function corrected(row, edit) {
  if (!made.has(edit)) made.set(edit, { ...row, ...edit, box: null, kind: "mask", edited: true });
  return made.get(edit);
}

const sizeFor = ({ width, height }) => [Math.max(1, Math.round((WIDTH * height) / width)), WIDTH];

export class MaskCache extends Topics {
  #known = new Map(); // claim id -> ClaimMasks, least recently used first
  #asked = new Map();

  /** `edits(claim)`: the corrections to show. Topic: loaded (claim id). */
  constructor({ api, video, edits }) {
    super();
    Object.assign(this, { api, video, edits, trouble: new Map() });
  }

  /** The claim's masks, or null while they are on their way. */
  of(claim) {
    const known = this.#known.get(claim.id);
    if (!known) return null;
    this.#known.delete(claim.id);
    this.#known.set(claim.id, known);
    return known;
  }

  async load(claim) {
    if (!claim) return null;
    if (this.#known.has(claim.id)) return this.of(claim);
    if (!this.#asked.has(claim.id)) this.#asked.set(claim.id, this.#fetch(claim));
    return this.#asked.get(claim.id);
  }

  async #fetch(claim) {
    try {
      const masks = new ClaimMasks(await this.api.get(`/audit/claims/${claim.id}/masks`), this.video);
      masks.correct(this.edits(claim));
      this.#known.set(claim.id, masks);
      this.trouble.delete(claim.id);
      while (this.#known.size > KEPT) this.#known.delete(this.#known.keys().next().value);
      this.emit("loaded", claim.id);
      return masks;
    } catch (error) {
      this.trouble.set(claim.id, error.message);
      this.emit("loaded", claim.id);
      return null;
    } finally {
      this.#asked.delete(claim.id);
    }
  }

  /** Corrections of a claim have changed. */
  corrected(claim) {
    this.#known.get(claim.id)?.correct(this.edits(claim));
    this.emit("loaded", claim.id);
  }

  /** Fetch them anew, as after another wording was looked for. */
  renew(claim) {
    this.#known.delete(claim.id);
    return this.load(claim);
  }
}
