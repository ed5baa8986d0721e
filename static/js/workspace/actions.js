// Everything a person can do here, by whatever hand: key, button, timeline, picture or list. What is said of gaze and of
// people is in parts of their own, `actions.gaze` and `actions.people`.

import { Topics, clamp, uuid } from "./dom.js";
import { GazeActions } from "./gaze-actions.js";
import { PeopleActions } from "./people-actions.js";
import { TYPES, cycleRole, fitRoles, rolesMissing, togglePerson } from "./vocabulary.js";

const NEW_EVENT_S = 1;
const LOOP_MARGIN_S = 1;

export class Actions extends Topics {
  constructor({ store, undo, player, window, say }) {
    super();
    Object.assign(this, { store, undo, player, window, say });
    this.partial = null; // {id, participants}: roles on the way to being whole, not saved yet
    this.looping = false;
    this.home = null; // [start, end) that loops while nothing is selected or marked; null: the whole video
    this.triage = null; // "all" or a type while proposals are shown one after another
    this.gaze = new GazeActions(this);
    this.people = new PeopleActions(this);
    store.on("selection", () => {
      if (this.partial && !store.isSelected("event", this.partial.id)) this.partial = null;
      this.#aimLoop();
    });
    store.on("span", () => this.#aimLoop());
    store.on("rows", () => this.#aimLoop());
  }

  // ---- Permission ----

  mayEdit() {
    if (this.store.may("annotate")) return true;
    this.say("Your role here is to look: ask an admin of the project for the role annotator to edit.", "error");
    return false;
  }

  commit(edit) {
    return this.mayEdit() ? this.undo.commit(edit) : null;
  }

  commitAll(edits) {
    return this.mayEdit() && edits.length ? this.undo.commitAll(edits) : [];
  }

  // ---- Selecting and going ----

  selectEvent(id, { seek = true } = {}) {
    const event = this.store.get("event", id);
    if (!event) return;
    if (this.store.draft) this.store.setDraft(null);
    this.store.select("event", [id]);
    if (seek && !(event.start <= this.player.frame && this.player.frame < event.end)) this.player.seek(event.start);
    this.#reveal(event);
  }

  #reveal(event) {
    const { window } = this;
    const wide = (event.end - event.start) * window.scale;
    if (wide < 10) window.show(event.start, event.end, 6);
    else if (window.x(event.end) > window.width || window.x(event.start) < 0) window.reveal(event.start);
  }

  selectPerson(id) {
    const root = this.store.rootOf(id);
    if (this.store.draft) return; // a draft is being made: it stays until it is saved or dropped
    this.store.select("person", [root]);
    this.emit("person", root);
  }

  zoomToPerson(id) {
    const tracklets = this.store.trackletsOf(id);
    if (tracklets.length) this.window.show(tracklets[0].start, Math.max(...tracklets.map((t) => t.end)), 0.04);
  }

  /** The event after or before the playhead's or the selection's. */
  neighbour(direction) {
    const events = this.store.ordered.filter((event) => this.store.passes(event));
    const chosen = this.store.selectedEvent;
    let at = chosen
      ? events.indexOf(chosen) + direction
      : events.findIndex((event) => event.start >= this.player.frame);
    if (!chosen && direction < 0) at = (at < 0 ? events.length : at) - 1;
    if (events[at]) this.selectEvent(events[at].id);
    else this.say(direction > 0 ? "No event after this one." : "No event before this one.");
  }

  /** The next proposal that waits for a word: in time, or in triage the least certain one. */
  nextUnreviewed() {
    const chosen = this.store.selectedEvent;
    const type = this.triage && this.triage !== "all" ? this.triage : null;
    const wanted = (event) => (type ? event.type === type : !this.store.filters.hidden.has(event.type));
    const open = this.store.ordered.filter(
      (event) => event.status === "proposed" && event.id !== chosen?.id && wanted(event),
    );
    if (this.triage) open.sort((a, b) => a.confidence - b.confidence);
    if (!open.length) {
      // else the next key would turn the word just said
      if (this.triage && chosen && chosen.status !== "proposed") this.store.select(null);
      this.say("Nothing is left to review in this video.");
      this.emit("reviewed");
      return;
    }
    const from = chosen ? chosen.start : this.player.frame;
    const next = this.triage
      ? open[0]
      : (open.find((event) => event.start > from || (event.start === from && chosen && event.id > chosen.id)) ??
        open[0]);
    if (this.triage) this.#present(next);
    else this.selectEvent(next.id);
  }

  /** Show an event as triage does: looped, with the time around it. */
  #present(event) {
    this.setLooping(true);
    this.selectEvent(event.id);
    this.window.show(event.start, event.end, 2);
    this.player.seek(this.player.loop[0]);
    this.player.play();
  }

  /** `what`: "all" or a type; null ends it. */
  setTriage(what) {
    this.triage = what;
    this.emit("triage", what);
    if (what) this.nextUnreviewed();
    else {
      this.setLooping(false);
      this.player.pause();
    }
  }

  /** Esc: let go of the innermost thing. */
  escape() {
    if (this.partial) {
      this.partial = null;
      this.store.emit("selection", this.store.selection);
    } else if (this.store.draft) this.store.setDraft(null);
    else if (this.store.selection.kind) this.store.select(null);
    else if (this.store.marked || this.store.span.in !== null || this.store.span.out !== null)
      this.store.setSpan(null, null);
    else if (this.triage) this.setTriage(null);
  }

  // ---- Loop ----

  setLooping(on) {
    this.looping = on;
    this.#aimLoop();
    this.emit("loop", on);
  }

  #aimLoop() {
    const { store, player } = this;
    if (!this.looping) {
      player.loop = null;
      return;
    }
    const event = store.draft ?? store.selectedEvent;
    if (event) {
      const { times } = store;
      const margin = this.triage ? LOOP_MARGIN_S : 0;
      const [low, high] = this.triage ? [0, times.frames] : [event.start, event.end];
      const from = times.frameAt(Math.max(0, times.zeroed(event.start) - margin));
      const to = margin ? times.frameAt(times.zeroed(event.end) + margin) : event.end;
      player.loop = [clamp(from, low, high - 1), clamp(to, from + 1, high)];
    } else player.loop = store.marked ?? this.home ?? [0, store.times.frames];
  }

  // ---- Judging events ----

  #chosenEvents() {
    const { store } = this;
    if (store.selection.kind !== "event") return [];
    return store.selection.ids.map((id) => store.get("event", id)).filter(Boolean);
  }

  setStatus(status) {
    if (this.store.draft) return status === "confirmed" ? this.saveDraft() : this.store.setDraft(null);
    const events = this.#chosenEvents();
    if (!events.length) return this.say("Select an event first; N goes to the next one that waits.");
    const word = { confirmed: "confirm", rejected: "reject", proposed: "reopen" }[status];
    const edits = events
      .filter((event) => event.status !== status || event.stale) // a word on a stale event is a new word
      .map((event) => ({
        kind: "event.update",
        object: event.id,
        fields: { status },
        label: `${word} ${this.#name(event)}`,
      }));
    this.commitAll(edits);
    if (events.length > 1) this.say(`${edits.length} events ${status}. Ctrl+Z takes all of them back.`);
    if (this.triage) this.nextUnreviewed();
  }

  #name(event) {
    return `${TYPES[event.type].word.toLowerCase()} ${this.store.describe(event)}`;
  }

  /** Delete what is selected; a proposal is rejected instead, so that it does not come back. */
  remove() {
    const { store } = this;
    if (store.draft) return store.setDraft(null);
    if (store.selection.kind === "event") return this.#removeEvents();
    if (store.selection.kind === "correction" || store.selection.kind === "coverage") {
      const { kind } = store.selection;
      const word = kind === "correction" ? "gaze correction" : "coverage";
      const edits = store.selection.ids.map((id) => ({ kind: `${kind}.delete`, object: id, label: `delete ${word}` }));
      store.select(null);
      return this.commitAll(edits);
    }
    return this.say("Select an event, a gaze correction or coverage to delete it.");
  }

  #removeEvents() {
    const events = this.#chosenEvents();
    const edits = events.map((event) =>
      event.origin === "human"
        ? { kind: "event.delete", object: event.id, label: `delete ${this.#name(event)}` }
        : {
            kind: "event.update",
            object: event.id,
            fields: { status: "rejected" },
            label: `reject ${this.#name(event)}`,
          },
    );
    const rejected = events.filter((event) => event.origin !== "human" && event.status !== "rejected");
    const wanted = edits.filter((edit, i) => edit.kind === "event.delete" || events[i].status !== "rejected");
    if (rejected.length) this.say("A proposal is rejected rather than deleted, so that it does not come back.");
    this.store.select(null);
    this.commitAll(wanted);
  }

  // ---- Spans ----

  /** Give an event, draft, correction or coverage a new span. */
  setSpan(kind, row, start, end) {
    if (kind === "draft") return this.store.setDraft({ ...this.store.draft, start, end });
    const fields = {};
    if (start !== row.start) fields.start = start;
    if (end !== row.end) fields.end = end;
    if (!Object.keys(fields).length) return null;
    const what = kind === "event" ? this.#name(row) : kind;
    return this.commit({
      kind: `${kind}.update`,
      object: row.id,
      fields,
      label: `${"start" in fields && "end" in fields ? "move" : "trim"} ${what}`,
    });
  }

  /** I and O: the selected thing's edge, or the marked span's. The out point is the frame shown, included. */
  mark(side) {
    const { store, player } = this;
    const kind = store.draft ? "draft" : store.selection.kind;
    const row =
      store.draft ??
      (["event", "correction", "coverage"].includes(kind) ? store.get(kind, store.selection.ids[0]) : null);
    const frame = player.frame;
    if (!row) {
      const { in: from, out: to } = store.span;
      if (side === "in") store.setSpan(frame, to !== null && to <= frame ? null : to);
      else store.setSpan(from !== null && from > frame ? null : from, frame + 1);
      return;
    }
    const [low, high] = kind === "coverage" ? [0, store.times.frames] : store.shotAt(row.start);
    if (frame < low || frame >= high)
      return this.say(`An event stays inside its shot, frames ${low} to ${high - 1}.`, "error");
    if (side === "in" && frame >= row.end)
      return this.say(`The start must lie before the end, frame ${row.end - 1}.`, "error");
    if (side === "out" && frame < row.start)
      return this.say(`The end must not lie before the start, frame ${row.start}.`, "error");
    this.setSpan(kind, row, side === "in" ? frame : row.start, side === "out" ? frame + 1 : row.end);
  }

  /** Move an edge of the selected thing by some frames. */
  nudge(side, by) {
    const { store } = this;
    const row = store.draft ?? store.selectedEvent;
    if (!row) return this.say("Select an event to move its edges.");
    const [low, high] = store.shotAt(row.start);
    const start = side === "start" ? clamp(row.start + by, low, row.end - 1) : row.start;
    const end = side === "end" ? clamp(row.end + by, row.start + 1, high) : row.end;
    this.setSpan(store.draft ? "draft" : "event", row, start, end);
    this.player.seek(side === "start" ? start : end - 1);
  }

  // ---- Making events ----

  /** Begin an event of a type; it is saved once its people are there and Enter is pressed. */
  draft(type, start, end) {
    if (!this.mayEdit()) return;
    const person = this.store.selectedPerson;
    const participants = person ? togglePerson(type, [], person.id) : [];
    this.store.setDraft({
      id: "draft",
      type,
      modality: TYPES[type].modality,
      start,
      end,
      participants,
      status: "proposed",
      confidence: 1,
      origin: "human",
    });
    this.store.select(null);
  }

  /** A type's key: changes the type of the draft or of the selected event; otherwise begins a new event. */
  typeKey(type, fresh = false) {
    const { store } = this;
    if (store.draft)
      return store.setDraft({
        ...store.draft,
        type,
        modality: TYPES[type].modality,
        participants: fitRoles(type, store.draft.participants),
      });
    const event = store.selectedEvent;
    if (event && !fresh) return this.setType(event, type);
    const [low, high] = store.shotAt(this.player.frame);
    const span = store.marked ?? [
      this.player.frame,
      Math.max(this.player.frame + 1, this.#after(this.player.frame, NEW_EVENT_S)),
    ];
    return this.draft(type, clamp(span[0], low, high - 1), clamp(span[1], low + 1, high));
  }

  #after(frame, seconds) {
    return this.store.times.frameAt(this.store.times.zeroed(frame) + seconds);
  }

  setType(event, type) {
    if (event.type === type) return;
    const participants = fitRoles(type, event.participants);
    const missing = rolesMissing(type, participants);
    if (missing)
      return this.say(
        `${TYPES[type].word}: ${missing.toLowerCase()}. Add people with their number keys first.`,
        "error",
      );
    this.commit({
      kind: "event.update",
      object: event.id,
      fields: { type, participants },
      label: `make it ${TYPES[type].word.toLowerCase()}`,
    });
  }

  saveDraft() {
    const { store } = this;
    const { type, modality, start, end, participants } = store.draft;
    const missing = rolesMissing(type, participants);
    if (missing) return this.say(`${TYPES[type].word}: ${missing.toLowerCase()}. Number keys add people.`, "error");
    const fields = { type, modality, start, end, participants, status: "confirmed" };
    store.setDraft(null);
    const record = this.commit({
      kind: "event.create",
      object: uuid(),
      fields,
      label: `new ${TYPES[type].word.toLowerCase()}`,
    });
    if (record) store.select("event", [record.object]);
  }

  // ---- Roles ----

  participantsOf(event) {
    return this.partial?.id === event.id ? this.partial.participants : event.participants;
  }

  /** A person's key: in or out of the draft or the selected event; otherwise selects the person. */
  personKey(id) {
    const event = this.store.draft ?? this.store.selectedEvent;
    if (!event) return this.selectPerson(id);
    const root = this.store.rootOf(id);
    const before = this.participantsOf(event);
    const mine = before.find(([person]) => this.store.rootOf(person) === root)?.[0] ?? root;
    const after = togglePerson(event.type, before, mine);
    if (after === before)
      return this.say(
        `${TYPES[event.type].word} ${rolesMissing(event.type, [...before, [root, TYPES[event.type].roles[0][0]]]).toLowerCase()}: take somebody out first.`,
        "error",
      );
    this.store.focusPerson = after.some(([person]) => person === mine) ? mine : null;
    return this.setParticipants(event, after);
  }

  setParticipants(event, participants) {
    if (event === this.store.draft) return this.store.setDraft({ ...event, participants });
    if (!this.mayEdit()) return null;
    if (rolesMissing(event.type, participants)) {
      this.partial = { id: event.id, participants };
      this.store.emit("selection", this.store.selection);
      return null;
    }
    this.partial = null;
    if (JSON.stringify(participants) === JSON.stringify(event.participants)) {
      this.store.emit("selection", this.store.selection);
      return null;
    }
    return this.commit({
      kind: "event.update",
      object: event.id,
      fields: { participants },
      label: `people of ${TYPES[event.type].word.toLowerCase()}`,
    });
  }

  /** Give the person in focus the next role of the event. */
  nextRole(person = this.store.focusPerson) {
    const event = this.store.draft ?? this.store.selectedEvent;
    if (!event) return this.say("Select an event to change roles.");
    if (TYPES[event.type].roles.length < 2) return this.say(`${TYPES[event.type].word} has one role only.`);
    const participants = this.participantsOf(event);
    const whose = participants.find(([id]) => id === person)?.[0] ?? participants[0]?.[0];
    if (!whose) return null;
    const after = cycleRole(event.type, participants, whose);
    this.store.focusPerson = whose;
    return this.setParticipants(event, after);
  }

  /** Put the next participant in focus for role keys. */
  nextParticipant() {
    const event = this.store.draft ?? this.store.selectedEvent;
    if (!event) return this.say("Select an event to walk through its people.");
    const ids = this.participantsOf(event).map(([id]) => id);
    this.store.focusPerson = ids[(ids.indexOf(this.store.focusPerson) + 1) % ids.length] ?? null;
    return this.store.emit("selection", this.store.selection);
  }

  /** Take what the rules say of an event: its span, type and people. */
  takeProposal(event, machine) {
    const fields = { type: machine.type, start: machine.start, end: machine.end, participants: machine.roles };
    for (const name of Object.keys(fields))
      if (JSON.stringify(fields[name]) === JSON.stringify(event[name])) delete fields[name];
    this.commit({ kind: "event.update", object: event.id, fields, label: `the rules' view of ${this.#name(event)}` });
  }

  /** Give an event its values of an earlier row back. */
  restore({ id, type, start, end, status, note, participants }) {
    const event = this.store.get("event", id);
    if (!event) return;
    const fields = { type, start, end, status, note: note ?? "", participants };
    this.commit({ kind: "event.update", object: id, fields, label: `restore ${this.#name(event)}` });
  }

  setNote(event, note) {
    if (note === (event.note ?? "")) return;
    this.commit({ kind: "event.update", object: event.id, fields: { note }, label: "note" });
  }

  // ---- Coverage ----

  /** "Every event of this modality between these people is marked here", over the marked span. */
  cover(modality = "gaze") {
    const { store } = this;
    if (!store.marked) return this.say("Mark a span first: I and O, or drag over a person's lane.", "error");
    const [start, end] = store.marked;
    const persons = store.selectedPerson ? [store.selectedPerson.id] : [];
    const record = this.commit({
      kind: "coverage.create",
      object: uuid(),
      fields: { persons, modality, start, end },
      label: `${modality} coverage`,
    });
    if (record) store.select("coverage", [record.object]);
    const waiting = record ? store.undecided(modality, start, end) : 0;
    if (waiting) {
      const them = waiting === 1 ? "1 proposal waits" : `${waiting} proposals wait`;
      this.say(`${them} for a word in this span: until they are decided, no proof takes them for absent.`);
    }
  }

  // ---- Undo ----

  undoLast() {
    const group = this.undo.undo();
    this.say(group ? `Undone: ${group.label}.` : "Nothing to undo.");
    // In triage the event whose word was taken back is the one to look at
    const event = this.triage && group ? this.store.get("event", group.events[0]) : null;
    if (event) this.#present(event);
  }

  redoLast() {
    const group = this.undo.redo();
    this.say(group ? `Done again: ${group.label}.` : "Nothing to do again.");
    if (this.triage && group) this.nextUnreviewed();
  }
}
