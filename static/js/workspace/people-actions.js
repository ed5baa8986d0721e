// What a person can do to people: name them, merge and split them, say which tracklet is whose.

import { uuid } from "./dom.js";

export class PeopleActions {
  constructor(actions) {
    Object.assign(this, { actions, store: actions.store });
  }

  rename(id, name) {
    const person = this.store.person(id);
    if (person && name.trim() !== person.name)
      this.actions.commit({
        kind: "person.update",
        object: person.id,
        fields: { name: name.trim() },
        label: `name of person ${person.number}`,
      });
  }

  colour(id, colour) {
    const person = this.store.person(id);
    if (person && colour !== person.colour)
      this.actions.commit({
        kind: "person.update",
        object: person.id,
        fields: { colour },
        label: `colour of person ${person.number}`,
      });
  }

  /** The higher number becomes an alias of the other, so numbers that people know stay. */
  merge(id, into) {
    const name = this.store.personName(id);
    const record = this.actions.commit({
      kind: "person.merge",
      object: id,
      fields: { into },
      label: `merge ${name} into ${this.store.personName(into)}`,
    });
    if (record) this.store.select("person", [into]);
  }

  /** From the playhead on, this is somebody else. */
  split(id, at = this.actions.player.frame) {
    const later = this.store.trackletsOf(id).filter((tracklet) => tracklet.end > at);
    if (!later.length) return this.actions.say(`${this.store.personName(id)} is not seen from here on.`, "error");
    if (later.length === this.store.trackletsOf(id).length && later.every((tracklet) => tracklet.start >= at))
      return this.actions.say(
        `${this.store.personName(id)} is not seen before frame ${at}: there is nothing to split off.`,
        "error",
      );
    if (!this.#whole(later)) return null;
    const fresh = uuid();
    const fields = { tracklets: later.map((tracklet) => tracklet.id), at, new: fresh };
    const record = this.actions.commit({
      kind: "person.split",
      object: this.store.rootOf(id),
      fields,
      label: `split ${this.store.personName(id)} at frame ${at}`,
    });
    if (record) this.store.select("person", [fresh]);
    return record;
  }

  /** Half a tracklet that was just cut has no name on the server yet. */
  #whole(tracklets) {
    if (tracklets.every((tracklet) => !tracklet.id.includes("~"))) return true;
    this.actions.say("The last split is still being saved; try again in a moment.", "error");
    return false;
  }

  splitTracklet(tracklet) {
    if (!this.#whole([tracklet])) return;
    const fresh = uuid();
    const person = this.store.rootOf(tracklet.person);
    const record = this.actions.commit({
      kind: "person.split",
      object: person,
      fields: { tracklets: [tracklet.id], at: null, new: fresh },
      label: `new person from ${this.store.personName(person)}`,
    });
    if (record) this.store.select("person", [fresh]);
  }

  assignTracklet(tracklet, person) {
    if (this.#whole([tracklet]))
      this.actions.commit({
        kind: "tracklet.assign",
        object: tracklet.id,
        fields: { person },
        label: `tracklet to ${this.store.personName(person)}`,
      });
  }

  answerIdentity(id, state) {
    this.actions.commit({
      kind: "identity.answer",
      object: id,
      fields: { state },
      label: state === "same" ? "same person" : "different people",
    });
  }
}
