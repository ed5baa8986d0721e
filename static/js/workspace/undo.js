// Undo and redo: edits of kind "undo", in the order they were made. An undo of an undo is a redo. What this person did to
// the video before the page was loaded comes from the server and from the queue, one edit a step.

import { STATUS_WORDS, TYPES } from "./vocabulary.js";

const WORDS = {
  "person.update": "name or colour of a person",
  "person.merge": "merge of two people",
  "person.split": "split of a person",
  "tracklet.assign": "whose tracklet it is",
  "identity.answer": "answer about identity",
  "correction.create": "gaze correction",
  "correction.update": "gaze correction",
  "correction.delete": "deleted gaze correction",
  "coverage.create": "coverage",
  "coverage.update": "coverage",
  "coverage.delete": "deleted coverage",
};

export class UndoStack {
  #done = [];
  #undone = [];
  #known = new Set(); // ids of the edits that were ever in these stacks
  #fresh = true; // nothing was done since the page was loaded that makes older undos final
  #loose = new Map(); // id -> undo by an earlier tab of an edit that only the server tells of

  constructor(queue) {
    this.queue = queue;
    queue.on("opened", (records) => {
      for (const record of records) if (record.status === "queued" && record.changes.length) this.#follow(record);
    });
    queue.on("saved", ({ record, answer }) => {
      if (!record) return;
      if (!record.elsewhere) this.#follow(record);
      this.#learn(record.id, answer.changes);
    });
    for (const topic of ["refused", "conflict", "stuck", "discarded"])
      queue.on(topic, (record) => this.#drop(record.id));
  }

  /** Take in an edit that was made by an earlier tab, or in place of one that was not saved. */
  #follow(record) {
    if (this.#known.has(record.id)) return;
    if (record.kind !== "undo") this.remember([record]);
    else if (!this.#turn(record, this.#done, this.#undone)) this.#loose.set(record.id, record);
  }

  /** Let an undo that is already made take what it names from one stack to the other. False when it is in neither. */
  #turn(record, done, undone) {
    const names = (group) => group.some(({ id }) => id === record.object);
    const [from, to] = done.some(names) ? [done, undone] : [undone, done];
    const at = from.findIndex(names);
    if (at < 0) return false;
    const [group] = from.splice(at, 1);
    const rest = group.filter(({ id }) => id !== record.object);
    if (rest.length) from.splice(at, 0, rest);
    const { label } = group.find(({ id }) => id === record.object);
    to.push([{ ...entryOf(record), label }]);
    this.#known.add(record.id);
    return true;
  }

  /** Put what the server knows of earlier edits under those of this page, whose stacks are the newer truth about them. */
  recall({ done, undone }, store) {
    const groups = (edits, label) =>
      edits.filter(({ id }) => !this.#known.has(id)).map((edit) => [{ ...edit, label: label(edit) }]);
    const turned = ({ changes }) => changes.map((one) => ({ ...one, before: one.after, after: one.before }));
    const older = groups(done, (edit) => labelOf(edit, store));
    const undos = groups(undone, (edit) => labelOf({ ...edit, changes: turned(edit) }, store));
    for (const { id } of [...done, ...undone]) this.#known.add(id);
    for (const record of this.#loose.values()) if (!this.#known.has(record.id)) this.#turn(record, older, undos);
    this.#loose.clear();
    this.#done = [...older, ...this.#done];
    if (this.#fresh) this.#undone = [...undos, ...this.#undone];
  }

  /** Commit an edit and remember it. */
  commit(edit) {
    const record = this.queue.commit(edit);
    if (record) this.remember([record]);
    return record;
  }

  /** Commit several edits that are undone together. */
  commitAll(edits) {
    const records = edits.map((edit) => this.queue.commit(edit)).filter(Boolean);
    if (records.length) this.remember(records);
    return records;
  }

  remember(records) {
    for (const { id } of records) this.#known.add(id);
    this.#done.push(records.map(entryOf));
    this.#undone = [];
    this.#fresh = false;
  }

  /** What the next undo takes back, in words; null when there is nothing. */
  get undoLabel() {
    return this.#done.at(-1)?.at(-1).label ?? null;
  }

  get redoLabel() {
    return this.#undone.at(-1)?.at(-1).label ?? null;
  }

  undo() {
    return this.#take(this.#done, this.#undone, "Undo");
  }

  redo() {
    return this.#take(this.#undone, this.#done, "Redo");
  }

  /**
   * Undo the newest group of `from`; the undos become the newest group of `to`. Returns {label, events: ids of the events
   * it was about}, or null.
   */
  #take(from, to, word) {
    const group = from.pop();
    if (!group) return null;
    const undos = [];
    for (const entry of group.toReversed()) {
      const record = this.queue.commit({
        kind: "undo",
        object: entry.id,
        undoes: entry.changes,
        label: `${word}: ${entry.label}`,
      });
      if (!record) continue;
      this.#known.add(record.id);
      undos.push({ ...entryOf(record), label: entry.label });
    }
    if (undos.length) to.push(undos);
    const about = group.flatMap((entry) => entry.changes).filter((change) => change.kind === "event");
    return { label: group.at(-1).label, events: about.map((change) => change.id) };
  }

  /** What the server really changed, with the ids it gave. */
  #learn(id, changes) {
    for (const group of [...this.#done, ...this.#undone])
      for (const entry of group) if (entry.id === id) entry.changes = changes;
  }

  /** It is not saved; should it be after all, it is taken in then. */
  #drop(id) {
    this.#known.delete(id);
    this.#loose.delete(id);
    for (const name of [this.#done, this.#undone])
      for (const group of name) {
        const at = group.findIndex((entry) => entry.id === id);
        if (at >= 0) group.splice(at, 1);
      }
    this.#done = this.#done.filter((group) => group.length);
    this.#undone = this.#undone.filter((group) => group.length);
  }
}

/** An edit of before in words, as the page would have called it. */
function labelOf({ kind, changes }, store) {
  if (WORDS[kind]) return WORDS[kind];
  const { before, after } = changes.find((one) => one.kind === "event") ?? {};
  const row = after ?? before;
  if (!row) return kind;
  const name = `${TYPES[row.type].word.toLowerCase()} ${store.describe(row)}`;
  if (!before || !after) return `${after ? "new" : "deleted"} ${name}`;
  return before.status === after.status ? `change of ${name}` : `${STATUS_WORDS[after.status].toLowerCase()} ${name}`;
}

function entryOf(record) {
  return { id: record.id, label: record.label, changes: record.changes };
}
