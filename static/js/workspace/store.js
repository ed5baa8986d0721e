// What the page knows: rows as the server acknowledged them (base), rows as shown (base + queued edits), and indexes.

import { Topics, upperBound } from "./dom.js";
import { GAZE_TYPES, GESTURE_TYPES } from "./vocabulary.js";

export const KINDS = ["event", "person", "tracklet", "correction", "coverage", "identity"];

/** Columns of a bundle into rows. */
function rowsOf(columns) {
  const names = Object.keys(columns);
  const count = columns.id?.length ?? 0;
  const rows = new Array(count);
  for (let i = 0; i < count; i++) {
    const row = {};
    for (const name of names) row[name] = columns[name][i];
    rows[i] = row;
  }
  return rows;
}

export class Store extends Topics {
  /** `times`: Times of the video. */
  constructor(bundle, times) {
    super();
    this.times = times;
    this.base = {};
    this.view = {};
    this.revisions = new Map(); // "kind:id" -> revision of the newest change to that row since the bundle
    this.selection = { kind: null, ids: [] };
    this.draft = null;
    this.span = { in: null, out: null };
    this.filters = { hidden: new Set(), rejected: false, present: true, person: null };
    this.pendingIds = new Set(); // objects with an edit that the server has not acknowledged
    this.focusPerson = null; // the participant that role keys act on
    this.mostRows = 3; // in how many rows a lane may lay events that overlap
    this.load(bundle);
  }

  /** Replace every acknowledged row. Queued edits must be applied again afterwards. */
  load(bundle) {
    this.video = bundle.video;
    this.run = bundle.run;
    this.me = bundle.me;
    this.derivation = bundle.derivation;
    this.layers = bundle.layers ?? [];
    this.rederive = Boolean(bundle.rederive); // people or gaze were edited since events were derived
    this.moving = bundle.moving; // kinds of edits after which the rules may say something else
    this.revision = this.loaded = bundle.video.revision;
    this.revisions.clear();
    this.shots = bundle.video.shots?.length ? bundle.video.shots : [0];
    const rows = {
      event: rowsOf(bundle.events),
      person: bundle.persons,
      tracklet: rowsOf(bundle.tracklets),
      correction: bundle.corrections,
      coverage: bundle.coverage,
      identity: bundle.identity,
    };
    for (const kind of KINDS) {
      this.base[kind] = new Map(rows[kind].map((row) => [row.id, row]));
      this.view[kind] = new Map(this.base[kind]);
    }
    this.#forget(new Set(KINDS));
  }

  may(action) {
    return this.me.actions.includes(action);
  }

  // ---- Rows ----

  get(kind, id) {
    return this.view[kind].get(id);
  }

  all(kind) {
    return this.view[kind].values();
  }

  /** How many proposals of a modality share a frame with a span and still wait for a word. */
  undecided(modality, start, end) {
    let found = 0;
    for (const event of this.all("event")) {
      const there = event.modality === modality && event.start < end && start < event.end;
      if (there && event.status === "proposed") found += 1;
    }
    return found;
  }

  /** Show changes ({kind, id, after}) without calling them acknowledged. */
  show(changes) {
    this.#write([this.view], changes);
  }

  /**
   * Take changes as acknowledged by the server. Answers overtake one another: of a row only the newest form is taken, by
   * the video's revision where it is known (`revision`), else by the row's version.
   */
  acknowledge(changes, revision = null) {
    const news = changes.filter((change) => this.isNews(change, revision));
    if (revision !== null) for (const { kind, id } of news) this.revisions.set(`${kind}:${id}`, revision);
    this.#write([this.base, this.view], news);
  }

  /** Whether the page does not know this state of a row yet, or a newer one. */
  isNews({ kind, id, after }, revision = null) {
    if (revision !== null) return revision > (this.revisions.get(`${kind}:${id}`) ?? this.loaded);
    const known = this.base[kind].get(id);
    return !known || !after || known.version <= after.version;
  }

  /** Show the acknowledged rows again for these objects ("kind:id"). */
  restore(keys) {
    const kinds = new Set();
    for (const key of keys) {
      const [kind, id] = key.split(":");
      if (kind === "correction" && !kinds.has(kind)) this.view[kind] = new Map(this.base[kind]); // their order counts
      const row = this.base[kind].get(id);
      if (row) this.view[kind].set(id, row);
      else this.view[kind].delete(id);
      kinds.add(kind);
    }
    this.#forget(kinds);
  }

  #write(layers, changes) {
    const kinds = new Set();
    for (const { kind, id, after } of changes) {
      kinds.add(kind);
      for (const layer of layers) {
        if (kind === "correction") layer[kind].delete(id); // what was changed last comes last, and wins
        if (after) layer[kind].set(id, after);
        else layer[kind].delete(id);
      }
    }
    this.#forget(kinds);
  }

  #forget(kinds) {
    if (!kinds.size) return;
    if (kinds.has("event")) this.events = this.lanes = null;
    if (kinds.has("person") || kinds.has("tracklet")) this.identities = null;
    if (kinds.has("correction")) this.corrections = null;
    this.identityStamp = (this.identityStamp ?? 0) + (kinds.has("person") || kinds.has("tracklet") ? 1 : 0);
    this.emit("rows", kinds);
  }

  // ---- People ----

  #identities() {
    if (this.identities) return this.identities;
    const rows = this.view.person;
    const root = new Map();
    for (const row of rows.values()) {
      let top = row;
      for (let hops = 0; top.merged_into && rows.has(top.merged_into) && hops < 1000; hops++)
        top = rows.get(top.merged_into);
      root.set(row.id, top.id);
    }
    const people = [...rows.values()].filter((row) => root.get(row.id) === row.id).sort((a, b) => a.number - b.number);
    const tracks = new Map();
    const tracklets = new Map(people.map((person) => [person.id, []]));
    for (const tracklet of this.view.tracklet.values()) {
      if (!tracks.has(tracklet.track)) tracks.set(tracklet.track, []);
      tracks.get(tracklet.track).push(tracklet);
      tracklets.get(root.get(tracklet.person))?.push(tracklet);
    }
    const byStart = (a, b) => a.start - b.start;
    for (const list of tracks.values()) list.sort(byStart);
    for (const list of tracklets.values()) list.sort(byStart);
    this.identities = { root, people, tracks, tracklets, lane: new Map(people.map((person, i) => [person.id, i])) };
    return this.identities;
  }

  /** Everybody, aliases left out, by number. */
  get people() {
    return this.#identities().people;
  }

  person(id) {
    return this.view.person.get(this.rootOf(id));
  }

  /** The person an id stands for, through merges. */
  rootOf(id) {
    return this.#identities().root.get(id) ?? id;
  }

  laneOf(id) {
    return this.#identities().lane.get(this.rootOf(id)) ?? -1;
  }

  aliasesOf(id) {
    return [...this.view.person.values()].filter((row) => row.id !== id && this.rootOf(row.id) === id);
  }

  /** Tracklets of a person and of everybody merged into them, by start. */
  trackletsOf(id) {
    return this.#identities().tracklets.get(this.rootOf(id)) ?? [];
  }

  /** The person a raw track is at a frame, or null. */
  personOf(track, frame) {
    const tracklet = this.trackletAt(track, frame);
    return tracklet ? this.rootOf(tracklet.person) : null;
  }

  trackletAt(track, frame) {
    const list = this.#identities().tracks.get(track);
    if (!list) return null;
    const found = list[upperBound(list, frame, (tracklet) => tracklet.start) - 1];
    return found && frame < found.end ? found : null;
  }

  isPresent(id, start, end) {
    return this.trackletsOf(id).some((tracklet) => tracklet.start < end && tracklet.end > start);
  }

  personName(id) {
    const person = this.person(id);
    return person ? person.name || `Person ${person.number}` : "Somebody removed";
  }

  shortName(id) {
    const person = this.person(id);
    return person ? person.name || `P${person.number}` : "?";
  }

  // ---- Events ----

  /** All events by start. */
  get ordered() {
    this.events ??= [...this.view.event.values()].sort(
      (a, b) => a.start - b.start || a.end - b.end || (a.id < b.id ? -1 : 1),
    );
    return this.events;
  }

  passes(event) {
    const { hidden, rejected, person } = this.filters;
    if (hidden.has(event.type)) return false;
    if (event.status === "rejected" && !rejected && !this.isSelected("event", event.id)) return false;
    return !person || event.participants.some(([id]) => this.rootOf(id) === person);
  }

  /** Types with a lane: all gaze types, and gestures once there are any. */
  get laneTypes() {
    this.ordered.types ??= new Set(this.ordered.map((event) => event.type));
    const seen = (type) => this.ordered.types.has(type) || this.draft?.type === type;
    return [...GAZE_TYPES, ...GESTURE_TYPES.filter(seen)].filter((type) => !this.filters.hidden.has(type));
  }

  /** Per type: {events, rowOf: Map(id -> row), rows, longest}. Events that overlap lie in rows under one another. */
  lane(type) {
    const most = this.mostRows;
    const key = `${type} ${most}`;
    this.lanes ??= new Map();
    if (!this.lanes.has(key)) {
      const events = this.ordered.filter((event) => event.type === type && this.passes(event));
      if (this.draft?.type === type)
        events.splice(
          upperBound(events, this.draft.start, (event) => event.start),
          0,
          this.draft,
        );
      const rowOf = new Map();
      const ends = [];
      let longest = 0;
      for (const event of events) {
        let row = ends.findIndex((end) => end <= event.start);
        if (row < 0) row = ends.length < most ? ends.length : ends.indexOf(Math.min(...ends));
        ends[row] = Math.max(ends[row] ?? 0, event.end);
        rowOf.set(event.id, row);
        longest = Math.max(longest, event.end - event.start);
      }
      this.lanes.set(key, { events, rowOf, rows: Math.max(1, ends.length), longest });
    }
    return this.lanes.get(key);
  }

  /** Events of a lane that touch [start, end). */
  inView(type, start, end) {
    const { events, longest } = this.lane(type);
    const first = upperBound(events, start - longest - 1, (event) => event.start);
    const found = [];
    for (let i = first; i < events.length && events[i].start < end; i++)
      if (events[i].end > start) found.push(events[i]);
    return found;
  }

  describe(event) {
    const names = (role) => event.participants.filter((p) => p[1] === role).map((p) => this.shortName(p[0]));
    const members = names("member");
    if (event.type === "mutual_gaze") return members.join(" ↔ ");
    if (event.type === "gaze_following") return `${names("follower").join(", ")} → ${names("leader").join("")}`;
    if (members.length) return members.join(", ") + (names("target").length ? ` → ${names("target")}` : "");
    const initiator = names("initiator").join("");
    return names("target").length ? `${initiator} → ${names("target").join("")}` : initiator;
  }

  // ---- Gaze corrections ----

  /** The correction that speaks for a person at a frame, or null. The one changed last wins. */
  correctionAt(person, frame) {
    const list = this.correctionsOf(person);
    for (let i = list.length - 1; i >= 0; i--) if (list[i].start <= frame && frame < list[i].end) return list[i];
    return null;
  }

  correctionsOf(person) {
    if (!this.corrections) {
      this.corrections = new Map();
      for (const row of this.view.correction.values()) {
        const root = this.rootOf(row.person);
        if (!this.corrections.has(root)) this.corrections.set(root, []);
        this.corrections.get(root).push(row);
      }
    }
    return this.corrections.get(this.rootOf(person)) ?? [];
  }

  // ---- Shots ----

  /** [start, end) of the shot a frame lies in. */
  shotAt(frame) {
    const next = upperBound(this.shots, frame);
    return [this.shots[next - 1] ?? 0, this.shots[next] ?? this.times.frames];
  }

  // ---- Selection ----

  select(kind, ids = []) {
    const same = this.selection.kind === kind && this.selection.ids.join() === ids.join();
    if (same) return;
    const wasRejected = this.selection.kind === "event";
    this.selection = { kind: ids.length ? kind : null, ids };
    this.focusPerson = null;
    if (wasRejected || kind === "event") this.lanes = null; // a rejected event shows while it is selected
    this.emit("selection", this.selection);
  }

  isSelected(kind, id) {
    return this.selection.kind === kind && this.selection.ids.includes(id);
  }

  /** The one selected event, or null. */
  get selectedEvent() {
    return this.selection.kind === "event" && this.selection.ids.length === 1
      ? (this.get("event", this.selection.ids[0]) ?? null)
      : null;
  }

  get selectedPerson() {
    return this.selection.kind === "person" ? this.person(this.selection.ids[0]) : null;
  }

  setDraft(draft) {
    this.draft = draft;
    this.lanes = null;
    this.focusPerson = null;
    this.emit("selection", this.selection);
  }

  setSpan(start, end) {
    this.span = { in: start, out: end };
    this.emit("span", this.span);
  }

  /** The marked span [in, out) when it is whole, or null. */
  get marked() {
    return this.span.in !== null && this.span.out !== null && this.span.in < this.span.out
      ? [this.span.in, this.span.out]
      : null;
  }

  setFilters(changes) {
    Object.assign(this.filters, changes);
    this.lanes = null;
    this.emit("filters", this.filters);
  }
}
