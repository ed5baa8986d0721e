// Saving without loss. Every edit goes into a queue on disk before it goes to the server, and leaves it only when the
// server acknowledged it or the user let it go. One edit is sent at a time, in order; whichever tab holds the lock sends
// for all of them.
//
// A record: {id, user, video, kind, object, version, base?, fields, label, made, status, undoes?, error?, conflict?}
// (user: who made it, sent along; base: the row as it was when the edit was made; in memory `elsewhere`: made in another
// tab that is open), with a status:
//   queued    shown as done, and sent when its turn comes
//   conflict  somebody else changed the row too: it waits for a word, and so does what was made after it on the same row
//   stuck     the server fails on it again and again while it answers other requests: waits for a word likewise
//   refused   the server said no; what came after it goes on

import { Topics, uuid } from "./dom.js";
import { predict } from "./predict.js";

const WAITS_MS = [400, 1000, 2000, 4000, 8000, 15_000];
const ORPHANED_MS = 3000; // after another tab made an edit: it is on disk by then, or that tab is gone
const MOST_TRIES = 5; // of an edit that the server fails on while it answers other requests
const keysOf = (changes) => changes.map(({ kind, id }) => `${kind}:${id}`);
const thingOf = (kind) => kind.split(".")[0];
const needsVersion = (kind) => kind !== "undo" && !kind.endsWith(".create");
const needsWord = (record) => record.status === "conflict" || record.status === "stuck";
/** Whether an edit was made from a version of this row. */
const isOf = (record, kind, id) => record.object === id && record.version !== null && thingOf(record.kind) === kind;

export class EditQueue extends Topics {
  #draining = false;
  #again = false;
  #wake = null;
  #failures = 0;
  #tries = new Map(); // id -> how often the server failed on this edit

  constructor({ store, database, api, user, video }) {
    super();
    Object.assign(this, { store, database, api, user, video });
    this.records = [];
    this.trouble = ""; // why saving waits, as a sentence
    this.acknowledged = new Set(); // ids of edits whose answer this page has taken in
    this.name = `sightline-queue-${user}-${video}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }) => this.#heard(data, false);
    addEventListener("online", () => this.kick());
    addEventListener("beforeunload", (event) => {
      if (this.unsaved) event.preventDefault();
    });
  }

  /** Take up what an earlier tab left unsaved. */
  async open() {
    for (const { order, ...record } of await this.database.list(this.user, this.video)) this.#include(record);
    this.emit("opened", this.records);
    this.#changed();
    this.kick();
  }

  get unsaved() {
    return this.records.length;
  }

  /** The record of an edit that is not acknowledged yet, if it is one of this queue's. */
  waiting(id) {
    return this.records.find((record) => record.id === id);
  }

  get conflicts() {
    return this.records.filter((record) => record.status === "conflict");
  }

  /** What is not sent until the user says so. */
  get parked() {
    return this.records.filter((record) => record.status === "refused" || record.status === "stuck");
  }

  // ---- Making edits ----

  /** Queue an edit {kind, object?, fields?, label, undoes?, version?}; it shows at once. Returns its record, or null. */
  commit({ kind, object = uuid(), fields = {}, label, undoes, version }) {
    const record = {
      id: uuid(),
      user: this.user,
      video: this.video,
      kind,
      object,
      fields,
      label,
      made: new Date().toISOString(),
    };
    record.version = needsVersion(kind) ? (version ?? this.#versionNow(record)) : null;
    record.status = "queued";
    if (undoes) record.undoes = undoes;
    const changes = predict(record, this.store);
    if (!changes.length) return null;
    if (record.version !== null) record.base = changes.find((one) => one.id === object)?.before ?? null;
    this.channel.postMessage({ type: "queued", record });
    this.#include(record);
    this.#keep(record);
    this.#changed();
    return record;
  }

  #versionNow({ kind, object }) {
    return this.store.get(thingOf(kind), object)?.version ?? null;
  }

  /** Put a record on disk, as the newest one; it is sent even when the browser does not keep it. */
  #keep(record) {
    record.stored = this.database.append(bare(record)).then((kept) => {
      record.kept = kept;
      if (!kept) {
        this.channel.postMessage({ type: "removed", id: record.id }); // no other tab can see to it
        this.emit("unkept", record);
        this.#changed();
      }
      this.channel.postMessage({ type: "kick" }); // should this tab close, another one sends
      this.kick();
    });
  }

  /** Give up a record and what only took it back. */
  async discard(record) {
    const gone = [record, ...this.#undosOf(record)];
    const moved = gone.flatMap((one) => this.#shift(one, this.#raisedBy(one), -1));
    const keys = gone.flatMap((one) => keysOf(one.changes));
    await this.#remove(...gone);
    await this.#persist(moved);
    this.#rebuild(keys);
    this.#changed();
    this.emit("discarded", record);
    this.kick();
  }

  /** Send a parked record again. A refused one is made anew from the rows as they are now, behind everything else. */
  async retry(record) {
    const last = record.status === "refused";
    const fields = { status: "queued", error: undefined };
    if (last && record.version !== null)
      Object.assign(fields, {
        version: this.#versionNow(record) ?? record.version,
        base: this.store.get(thingOf(record.kind), record.object) ?? record.base,
      });
    this.#tries.delete(record.id);
    const message = { type: "requeued", id: record.id, fields, last };
    this.channel.postMessage(message);
    this.#requeue(record, message);
    if (last) this.#keep(record);
    else {
      await this.database.update(record.id, fields);
      this.kick();
    }
  }

  #requeue(record, { fields, last }) {
    Object.assign(record, fields);
    if (last) this.records = [...this.records.filter((one) => one !== record), record];
    this.#rebuild([]);
    this.#changed();
  }

  /** Records that wait behind a conflict on the same object. */
  behind(record) {
    return this.records.filter(
      (other) => other !== record && other.object === record.object && other.status === "queued",
    );
  }

  #undosOf(record) {
    return this.records.filter((one) => one.kind === "undo" && one.object === record.id);
  }

  /**
   * End a conflict. `edit`, if any, is made from their version in place of the record and of `folded`, records behind it
   * that it takes in. The others behind it stay: with `keep` they follow on from what stands now; without, they are
   * asked about one by one, because they were made from what has been given up.
   */
  async resolve(record, edit, { folded = [], keep = false } = {}) {
    const { theirs, kind, id } = record.conflict;
    const gone = [record, ...folded, ...[record, ...folded].flatMap((one) => this.#undosOf(one))];
    const later = this.behind(record).filter((one) => !gone.includes(one));
    this.records = this.records.filter((one) => !gone.includes(one) && !later.includes(one));
    this.#rebuild(
      [...[...gone, ...later].flatMap((one) => keysOf(one.changes)), `${kind}:${id}`],
      [{ kind, id, after: theirs }],
    );
    const fresh = edit ? this.commit(edit) : null;
    for (const one of later) {
      if (one.version !== null) one.version = keep ? (this.#versionNow(one) ?? one.version) : record.version;
      this.#include(one);
      this.#keep(one);
    }
    // The old records leave the disk only when what takes their place is on it, and all at once: without the conflict, one
    // that it held back would be sent
    for (const one of [fresh, ...later]) await one?.stored;
    await this.#remove(...gone);
    this.#changed();
    this.kick();
  }

  // ---- The records and what they show ----

  #include(record) {
    if (this.waiting(record.id) || this.acknowledged.has(record.id)) return;
    this.records.push(record);
    record.changes = this.#shows(record) ? predict(record, this.store) : [];
    this.store.pendingIds = new Set(this.records.flatMap((one) => keysOf(one.changes)));
    this.store.show(record.changes);
  }

  #shows(record) {
    return record.status === "queued" && !this.#isBlocked(record, this.records);
  }

  /** Show the acknowledged rows, then every queued edit on top of them, in order. `revision`: of what is acknowledged. */
  #rebuild(keys, acknowledged = [], revision = null) {
    this.store.restore(new Set([...keys, ...this.records.flatMap((record) => keysOf(record.changes))]));
    if (acknowledged.length) this.store.acknowledge(acknowledged, revision);
    for (const record of this.records) {
      record.changes = this.#shows(record) ? predict(record, this.store) : [];
      this.store.show(record.changes);
    }
    this.store.pendingIds = new Set(this.records.flatMap((record) => keysOf(record.changes)));
  }

  /** Rows were replaced or came from somebody else: put the queue back on top. */
  reapply(acknowledged = [], revision = null) {
    this.#rebuild(keysOf(acknowledged), acknowledged, revision);
    this.#changed();
  }

  /** Whether a record must wait until somebody has said a word about another one. */
  #isBlocked(record, records) {
    const bars = (other) =>
      other !== record &&
      needsWord(other) &&
      (other.object === record.object || (record.kind === "undo" && other.id === record.object));
    return record.status === "queued" && records.some(bars);
  }

  #after(record) {
    return this.records.slice(this.records.indexOf(record) + 1).filter((one) => one.status === "queued");
  }

  /** The rows that later edits expect this record to raise by one version. */
  #raisedBy(record) {
    if (record.status === "stuck" && record.kind !== "undo") return [{ kind: thingOf(record.kind), id: record.object }];
    return record.status === "queued" ? record.changes.filter(({ after }) => after) : [];
  }

  /** Later edits were made from versions that `record` was thought to bring. Returns those that are other now. */
  #shift(record, rows, by) {
    const moved = this.#after(record).filter((one) => rows.some(({ kind, id }) => isOf(one, kind, id)));
    for (const one of moved) one.version += by;
    return moved;
  }

  /** Later edits follow on from the versions that the server gave. Returns those that are other now. */
  #follow(record, changes) {
    const moved = [];
    for (const { kind, id, after } of changes) {
      if (!after) continue;
      let { version } = after;
      for (const one of this.#after(record)) {
        if (isOf(one, kind, id) && one.version !== version) {
          one.version = version;
          moved.push(one);
        }
        if (one.changes.some((change) => change.kind === kind && change.id === id)) version++;
      }
    }
    return moved;
  }

  async #persist(moved) {
    for (const one of moved) {
      await one.stored;
      await this.database.update(one.id, { version: one.version });
    }
  }

  async #remove(...gone) {
    for (const record of gone) await record.stored;
    await this.database.remove(...gone.map(({ id }) => id));
    this.records = this.records.filter((one) => !gone.includes(one));
    for (const { id } of gone) this.channel.postMessage({ type: "removed", id });
  }

  // ---- Sending ----

  /** Send what waits, now. */
  kick() {
    this.#wake?.();
    this.#drain();
  }

  async #drain() {
    if (this.#draining) {
      this.#again = true;
      return;
    }
    this.#draining = true;
    try {
      do {
        this.#again = false;
        await exclusively(this.name, () => this.#loop());
      } while (this.#again);
    } catch (error) {
      this.#trouble(`The edits on this computer cannot be read: ${error.message}`);
    } finally {
      this.#draining = false;
      this.#changed();
    }
  }

  async #loop() {
    for (;;) {
      const stored = await this.database.list(this.user, this.video);
      const next = stored.find((record) => record.status === "queued" && !this.#isBlocked(record, stored));
      if (!stored.length) this.#trouble("");
      if (!next) return;
      const goOn = await this.#send(next);
      if (!goOn) return;
    }
  }

  /** One edit to the server and its answer into the queue. False: stop sending for now. */
  async #send({ id, kind, object, version, fields, user }) {
    const edit = { id, kind, object, version, fields, user };
    let answer;
    try {
      answer = await this.#post(edit);
      if (answer.status === 401) return await this.#loggedOut();
      // 403 may only mean that the token is from an earlier session
      if (answer.status === 403) {
        if (!this.#isMe(await this.api.session())) return await this.#loggedOut();
        answer = await this.#post(edit);
      }
    } catch {
      return this.#wait("The server cannot be reached. Edits are kept here and saved later.");
    }
    const { status, data } = answer;
    if (status === 429 || status === 408 || status === 503)
      return this.#wait("The server is in trouble. Edits are kept here and saved later.");
    let verdict = null;
    if (status >= 500) {
      if (!(await this.#failsOnThis(id)))
        return this.#wait("The server is in trouble. Edits are kept here and saved later.");
      verdict = {
        status: "stuck",
        error: `The server failed on it ${MOST_TRIES} times (${status}), while it answers other requests.`,
      };
    } else if (status === 409 && data?.conflict) verdict = { status: "conflict", conflict: data.conflict };
    else if (status !== 200) verdict = { status: "refused", error: data?.error ?? `The server answered ${status}.` };
    this.#failures = 0;
    this.#trouble("");
    if (verdict) await this.database.update(id, verdict);
    else await this.database.remove(id);
    const message = verdict ? { type: "answered", id, verdict } : { type: "acknowledged", id, answer: data };
    this.channel.postMessage(message);
    await this.#heard(message, true);
    return true;
  }

  #post(edit) {
    return this.api.ask("POST", `/videos/${this.video}/edits`, edit);
  }

  #isMe(user) {
    return Boolean(user) && String(user.id) === String(this.user);
  }

  async #loggedOut() {
    const user = await this.api.session();
    if (this.#isMe(user))
      return this.#wait("The server did not know the session for a moment. Edits are kept here and saved later.");
    this.loggedOut(user);
    return false;
  }

  /** Nobody (null) or somebody else is logged in now: the edits wait for the person who made them. */
  loggedOut(other = null) {
    this.#trouble(
      other
        ? `${other.name} is logged in now. These edits wait for the person who made them.`
        : "You were logged out. Log in again and the edits are saved.",
    );
    this.emit("login", other);
  }

  /** Whether the server failed on this edit too often, and does answer other requests. */
  async #failsOnThis(id) {
    const tries = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, tries);
    if (tries < MOST_TRIES) return false;
    try {
      const { status } = await this.api.ask("GET", `/videos/${this.video}/changes?since=${this.store.revision}`);
      return status < 500;
    } catch {
      return false;
    }
  }

  async #wait(sentence) {
    this.#trouble(sentence);
    const ms = WAITS_MS[Math.min(this.#failures++, WAITS_MS.length - 1)] * (0.8 + 0.4 * Math.random());
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = null;
    return true;
  }

  #trouble(sentence) {
    if (this.trouble === sentence) return;
    this.trouble = sentence;
    this.#changed();
  }

  // ---- Hearing: from this tab's sending (`own`) and from other tabs ----

  async #heard(message, own) {
    const record = this.waiting(message.id);
    if (message.type === "queued") {
      this.#include({ ...message.record, elsewhere: true });
      this.#adoptLater();
    } else if (message.type === "acknowledged") await this.#acknowledged(record, message.answer, own);
    else if (message.type === "kick") this.kick();
    else if (!record) return;
    else if (message.type === "answered") await this.#answered(record, message.verdict, own);
    else if (message.type === "requeued") this.#requeue(record, message);
    else if (message.type === "removed") {
      this.#shift(record, this.#raisedBy(record), -1);
      this.records = this.records.filter((one) => one !== record);
      this.#rebuild(keysOf(record.changes));
    }
    this.#changed();
  }

  /** Send what other tabs made and could not send any more, because they were closed. */
  #adoptLater() {
    clearTimeout(this.adopting);
    this.adopting = setTimeout(async () => {
      await this.database.recover();
      this.kick();
    }, ORPHANED_MS);
  }

  /** The changes feed brought an edit that waits for a word here: the server has it after all. */
  async settle(record, answer) {
    await this.database.remove(record.id);
    const message = { type: "acknowledged", id: record.id, answer };
    this.channel.postMessage(message);
    await this.#heard(message, true);
    this.kick();
  }

  async #acknowledged(record, answer, own) {
    this.acknowledged.add(answer.id);
    this.#tries.delete(answer.id);
    const keys = [...keysOf(answer.changes), ...keysOf(record?.changes ?? [])];
    const moved = record ? this.#follow(record, answer.changes) : [];
    this.records = this.records.filter((one) => one !== record);
    this.#rebuild(keys, answer.changes, answer.revision);
    if (own) await this.#persist(moved);
    this.emit("saved", { record, answer });
  }

  async #answered(record, verdict, own) {
    const { changes } = record;
    const unraised = changes.filter(
      ({ id, after }) =>
        after && (verdict.status === "refused" || (verdict.status === "stuck" && id !== record.object)),
    );
    const moved = this.#shift(record, unraised, -1);
    Object.assign(record, verdict);
    this.#rebuild(keysOf(changes));
    if (own) {
      await this.#persist(moved);
      if (verdict.status === "refused") await this.#remove(...this.#undosOf(record));
    }
    this.#rebuild([]);
    this.emit(verdict.status, record);
  }

  #changed() {
    this.emit("state", this);
  }
}

/** A record as it is stored: without what only this tab needs. */
function bare({ changes, stored, kept, elsewhere, ...record }) {
  return record;
}

/** Run `work` while no other tab does the same. */
async function exclusively(name, work) {
  if (navigator.locks) return navigator.locks.request(name, work);
  return work();
}
