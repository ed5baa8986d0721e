// What an edit will do to the rows, so that the page shows it at once. The server's answer replaces the prediction.

const change = (kind, id, before, after) => ({ kind, id, before: before ?? null, after });
const bump = (row, fields) => ({ ...row, ...fields, version: row.version + 1 });

/** Changes [{kind, id, before, after}] of an edit {id, kind, object, fields, changes?}; [] when its object is not there. */
export function predict(edit, store) {
  if (edit.kind === "undo") return inverse(edit.undoes ?? [], store);
  const [thing, verb] = edit.kind.split(".");
  const row = store.get(thing === "identity" ? "identity" : thing, edit.object);
  if (verb === "create") return row ? [] : [create(thing, edit)];
  if (!row) return [];
  return HANDLERS[edit.kind](edit, row, store);
}

function create(thing, edit) {
  const { object: id, fields } = edit;
  const shared = { id, version: 1 };
  const rows = {
    event: {
      set: "working",
      confidence: 1,
      status: "confirmed",
      origin: "human",
      edited: false,
      stale: false,
      note: "",
    },
    correction: { x: null, y: null, target_person: null },
    coverage: { persons: [] },
  };
  return change(thing, id, null, { ...rows[thing], ...fields, ...shared });
}

const HANDLERS = {
  "event.update": (edit, row) => {
    const moved = ["start", "end", "type", "participants"].some((name) => name in edit.fields);
    const after = bump(row, { ...edit.fields, set: "working", stale: false });
    if (moved && row.origin !== "human") after.edited = true;
    return [change("event", row.id, row, after)];
  },
  "event.delete": (edit, row) => [change("event", row.id, row, null)],
  "person.update": (edit, row) => [change("person", row.id, row, bump(row, edit.fields))],
  "person.merge": (edit, row, store) => [
    change("person", row.id, row, bump(row, { merged_into: store.rootOf(edit.fields.into) })),
  ],
  "person.split": splitPerson,
  "tracklet.assign": (edit, row) => [
    change("tracklet", row.id, row, bump(row, { person: edit.fields.person, human: true })),
  ],
  "correction.update": (edit, row) => [change("correction", row.id, row, bump(row, edit.fields))],
  "correction.delete": (edit, row) => [change("correction", row.id, row, null)],
  "coverage.update": (edit, row) => [change("coverage", row.id, row, bump(row, edit.fields))],
  "coverage.delete": (edit, row) => [change("coverage", row.id, row, null)],
  "identity.answer": (edit, row, store) => {
    const changes = [change("identity", row.id, row, bump(row, { state: edit.fields.state }))];
    const [low, high] = [store.person(row.first), store.person(row.second)].sort((a, b) => a.number - b.number);
    if (edit.fields.state === "same" && low.id !== high.id)
      changes.push(change("person", high.id, high, bump(high, { merged_into: low.id })));
    return changes;
  },
};

function splitPerson(edit, row, store) {
  const { tracklets, at, new: fresh } = edit.fields;
  const number = Math.max(-1, ...[...store.all("person")].map((person) => person.number)) + 1;
  const changes = [
    change("person", row.id, row, bump(row, {})),
    change("person", fresh, null, { id: fresh, number, name: "", colour: "", merged_into: null, version: 1 }),
  ];
  for (const id of tracklets) {
    const tracklet = store.get("tracklet", id);
    if (!tracklet) continue;
    if (at === null || at === undefined || at <= tracklet.start) {
      changes.push(change("tracklet", id, tracklet, bump(tracklet, { person: fresh, human: true })));
    } else {
      // The server names the second half; until it answers, it goes by a name of our own
      const rest = `${id}~${at}`;
      changes.push(change("tracklet", id, tracklet, bump(tracklet, { end: at, human: true })));
      changes.push(
        change("tracklet", rest, null, { ...tracklet, id: rest, start: at, person: fresh, human: true, version: 1 }),
      );
    }
  }
  return changes;
}

/** The changes that put every row back as it was, each at a version of its own. */
export function inverse(changes, store) {
  return changes.toReversed().map(({ kind, id, before, after }) => {
    const now = store.get(kind, id) ?? null;
    const version = (now ?? after ?? before).version + 1;
    return change(kind, id, now, before ? { ...before, version } : null);
  });
}
