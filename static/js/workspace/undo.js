// Undo and redo: edits of kind "undo", in the order this tab made them. An undo of an undo is a redo.

export class UndoStack {
  #done = [];
  #undone = [];

  constructor(queue) {
    this.queue = queue;
    queue.on("saved", ({ record, answer }) => record && this.#learn(record.id, answer.changes));
    queue.on("refused", (record) => this.#drop(record.id));
    queue.on("conflict", (record) => this.#drop(record.id));
    queue.on("stuck", (record) => this.#drop(record.id));
    queue.on("discarded", (record) => this.#drop(record.id));
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
    this.#done.push(records.map(entryOf));
    this.#undone = [];
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
      if (record) undos.push({ ...entryOf(record), label: entry.label });
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

  #drop(id) {
    for (const name of [this.#done, this.#undone])
      for (const group of name) {
        const at = group.findIndex((entry) => entry.id === id);
        if (at >= 0) group.splice(at, 1);
      }
    this.#done = this.#done.filter((group) => group.length);
    this.#undone = this.#undone.filter((group) => group.length);
  }
}

function entryOf(record) {
  return { id: record.id, label: record.label, changes: record.changes };
}
