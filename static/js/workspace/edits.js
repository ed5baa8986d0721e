// Saving without loss. Every edit goes into a queue on disk before it goes to the server, and leaves it only when the
// server acknowledged it. One edit is sent at a time, in order; whichever tab holds the lock sends for all of them.
//
// A record: {seq, id, user, video, kind, object, version, base?, fields, label, made, status, undoes?, error?, conflict?}
// (base: the row as it was when the edit was made)
// with status queued | conflict | refused. Queued ones are shown as done; the others wait for a word of the user.

import { Topics, uuid } from "./dom.js";
import { predict } from "./predict.js";

const WAITS_MS = [400, 1000, 2000, 4000, 8000, 15_000];
const keysOf = (changes) => changes.map(({ kind, id }) => `${kind}:${id}`);
const needsVersion = (kind) => kind !== "undo" && !kind.endsWith(".create");

export class EditQueue extends Topics {
  #draining = false;
  #again = false;
  #wake = null;
  #failures = 0;

  constructor({ store, database, api, user, video }) {
    super();
    Object.assign(this, { store, database, api, user, video });
    this.records = [];
    this.trouble = ""; // why saving waits, as a sentence
    this.acknowledged = new Set(); // ids of edits whose answer this page has taken in
    this.name = `sightline-queue-${user}-${video}`;
    this.channel = new BroadcastChannel(this.name);
    this.channel.onmessage = ({ data }) => this.#heard(data);
    addEventListener("online", () => this.kick());
    addEventListener("beforeunload", (event) => {
      if (this.unsaved) event.preventDefault();
    });
  }

  /** Take up what an earlier tab left unsaved. */
  async open() {
    for (const record of await this.database.list(this.user, this.video)) this.#include(record);
    this.#changed();
    this.kick();
  }

  get unsaved() {
    return this.records.length;
  }

  /** Whether an edit is this queue's own: waiting, on its way, or acknowledged. */
  knows(id) {
    return this.acknowledged.has(id) || this.records.some((record) => record.id === id);
  }

  get conflicts() {
    return this.records.filter((record) => record.status === "conflict");
  }

  get refused() {
    return this.records.filter((record) => record.status === "refused");
  }

  // ---- Making edits ----

  /** Queue an edit {kind, object?, fields?, label, undoes?, version?}; it shows at once. Returns its record, or null. */
  commit({ kind, object = uuid(), fields = {}, label, undoes, version }) {
    const record = { id: uuid(), user: this.user, video: this.video, kind, object, fields, label, made: new Date().toISOString() };
    const thing = kind.split(".")[0];
    record.version = needsVersion(kind) ? (version ?? this.store.get(thing, object)?.version ?? null) : null;
    record.status = "queued";
    if (undoes) record.undoes = undoes;
    const changes = predict(record, this.store);
    if (!changes.length) return null;
    if (record.version !== null) record.base = changes.find((one) => one.id === object)?.before ?? null;
    this.channel.postMessage({ type: "queued", record });
    this.#include(record);
    record.stored = this.database.add(bare(record)).then((seq) => {
      record.seq = seq;
    });
    record.stored.then(
      () => this.kick(),
      (error) => this.#trouble(`The browser could not keep an edit: ${error.message}`),
    );
    this.#changed();
    return record;
  }

  /** Give up a record that waits for a word. */
  async discard(record) {
    await this.#remove(record);
    this.#rebuild(keysOf(record.changes));
    this.#changed();
    this.kick();
  }

  /** Queue a refused record again as it was, from the rows as they are now. */
  async retry(record) {
    await this.discard(record);
    return this.commit({ kind: record.kind, object: record.object, fields: record.fields, label: record.label });
  }

  /** Records that wait behind a conflict on the same object. */
  behind(record) {
    return this.records.filter((other) => other !== record && other.object === record.object && other.status === "queued");
  }

  /** End a conflict: its records go; `edit`, if any, is made from their version. */
  async resolve(record, edit) {
    const { theirs, kind, id } = record.conflict;
    const gone = [record, ...this.behind(record)];
    for (const one of gone) await this.#remove(one);
    this.#rebuild([...gone.flatMap((one) => keysOf(one.changes)), `${kind}:${id}`], [{ kind, id, after: theirs }]);
    if (edit) this.commit(edit);
    this.#changed();
    this.kick();
  }

  // ---- The records and what they show ----

  #include(record) {
    record.changes = record.status === "queued" && !this.#isBlocked(record, this.records) ? predict(record, this.store) : [];
    this.records.push(record);
    this.store.pendingIds = new Set(this.records.flatMap((one) => keysOf(one.changes)));
    this.store.show(record.changes);
  }

  /** Show the acknowledged rows, then every queued edit on top of them, in order. */
  #rebuild(keys, acknowledged = []) {
    const queued = this.records.filter((record) => record.status === "queued" && !this.#isBlocked(record, this.records));
    this.store.restore(new Set([...keys, ...this.records.flatMap((record) => keysOf(record.changes))]));
    if (acknowledged.length) this.store.acknowledge(acknowledged);
    for (const record of this.records) record.changes = [];
    for (const record of queued) {
      record.changes = predict(record, this.store);
      this.store.show(record.changes);
    }
    this.store.pendingIds = new Set(queued.flatMap((record) => keysOf(record.changes)));
  }

  /** Rows were replaced or came from somebody else: put the queue back on top. */
  reapply(acknowledged = []) {
    this.#rebuild(keysOf(acknowledged), acknowledged);
    this.#changed();
  }

  #isBlocked(record, records) {
    return records.some((other) => other.status === "conflict" && other.object === record.object && other !== record && record.status === "queued");
  }

  /** Edits made after `record` on rows it changed were made from versions that it was thought to bring. */
  async #shift(record, difference) {
    const later = this.records.slice(this.records.indexOf(record) + 1);
    for (const { kind, id, after } of record.changes) {
      const by = difference(kind, id, after);
      if (!by) continue;
      for (const one of later)
        if (one.object === id && one.version !== null && one.kind.startsWith(kind)) {
          one.version += by;
          await one.stored;
          await this.database.put(bare(one));
        }
    }
  }

  async #remove(record) {
    await record.stored;
    if (record.seq !== undefined) await this.database.remove(record.seq);
    this.records = this.records.filter((one) => one !== record);
    this.channel.postMessage({ type: "removed", id: record.id });
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
    } finally {
      this.#draining = false;
      this.#changed();
    }
  }

  async #loop() {
    for (;;) {
      const stored = await this.database.list(this.user, this.video);
      const next = stored.find((record) => record.status === "queued" && !this.#isBlocked(record, stored));
      if (!next) return;
      const goOn = await this.#send(next);
      if (!goOn) return;
    }
  }

  /** One edit to the server and its answer into the queue. False: stop sending for now. */
  async #send(record) {
    const { id, kind, object, version, fields } = record;
    let answer;
    try {
      answer = await this.api.ask("POST", `/videos/${this.video}/edits`, { id, kind, object, version, fields });
      if (answer.status === 403 && !record.asked) answer = await this.#askAgain(answer, { id, kind, object, version, fields });
    } catch {
      return this.#wait("The server cannot be reached. Edits are kept here and saved later.");
    }
    const { status, data } = answer;
    if (status === 401) {
      this.#trouble("You were logged out. Log in again and the edits are saved.");
      this.emit("login");
      return false;
    }
    if (status >= 500 || status === 429 || status === 408) return this.#wait("The server is in trouble. Edits are kept here and saved later.");
    this.#failures = 0;
    this.#trouble("");
    let message;
    if (status === 200) {
      await this.database.remove(record.seq);
      message = { type: "acknowledged", id, answer: data };
    } else {
      const verdict =
        status === 409 && data?.conflict
          ? { status: "conflict", conflict: data.conflict }
          : { status: "refused", error: data?.error ?? `The server answered ${status}.` };
      await this.database.put({ ...record, ...verdict });
      message = { type: "answered", id, verdict };
    }
    this.channel.postMessage(message);
    await this.#heard(message);
    return true;
  }

  /** 403 may only mean that the token is from an earlier session: fetch a new one and ask once more. */
  async #askAgain(answer, edit) {
    const user = await this.api.session();
    if (!user || String(user.id) !== String(this.user)) return { status: 401, data: answer.data };
    return this.api.ask("POST", `/videos/${this.video}/edits`, edit);
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

  // ---- Hearing: from this tab's sending and from other tabs ----

  async #heard(message) {
    const record = this.records.find((one) => one.id === message.id);
    if (message.type === "queued") this.#include(message.record);
    else if (message.type === "acknowledged") await this.#acknowledged(record, message.answer);
    else if (message.type === "answered" && record) await this.#answered(record, message.verdict);
    else if (message.type === "removed" && record) {
      this.records = this.records.filter((one) => one !== record);
      this.#rebuild(keysOf(record.changes));
    } else if (message.type === "kick") this.kick();
    this.#changed();
  }

  async #acknowledged(record, answer) {
    this.acknowledged.add(answer.id);
    if (!record) {
      this.reapply(answer.changes);
    } else {
      const stored = new Map(answer.changes.map((one) => [`${one.kind}:${one.id}`, one.after]));
      await this.#shift(record, (kind, id, after) => {
        const truth = stored.get(`${kind}:${id}`);
        return truth && after ? truth.version - after.version : 0;
      });
      const keys = keysOf(record.changes);
      this.records = this.records.filter((one) => one !== record);
      this.#rebuild(keys, answer.changes);
    }
    this.emit("saved", { record, answer });
  }

  async #answered(record, verdict) {
    Object.assign(record, verdict);
    const changes = record.changes;
    if (verdict.status === "refused") {
      await this.#shift(record, (kind, id, after) => (after ? -1 : 0));
      for (const undo of this.records.filter((one) => one.kind === "undo" && one.object === record.id)) await this.#remove(undo);
    }
    this.#rebuild(keysOf(changes));
    this.emit(verdict.status, record);
  }

  #changed() {
    this.emit("state", this);
  }
}

/** A record as it is stored: without what only this tab needs. */
function bare({ changes, stored, ...record }) {
  return record;
}

/** Run `work` while no other tab does the same. */
async function exclusively(name, work) {
  if (navigator.locks) return navigator.locks.request(name, work);
  return work();
}
