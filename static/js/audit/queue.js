/**
 * What an auditor says on its way: each verdict and each stroke is written to this computer first (IndexedDB, and a note in
 * local storage until that is through) and leaves it when the studio has acknowledged it. One is sent at a time, in order.
 * Every record has an id made here, so sent twice it counts once.
 *
 * A record: {id, user, video: the response's place in the database, row, method, path, body, label, about, apply, status,
 * error?}. `row` names the thing it changes; what comes after a record that waits for a word, on the same row, waits with it.
 */

import { Topics, uuid } from "../workspace/dom.js";

const AGAIN_MS = [400, 1000, 2000, 4000, 8000, 15_000];
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]); // worth sending again

export class AuditQueue extends Topics {
  #busy = false;
  #tries = 0;
  #timer = 0;

  /**
   * `prepare(record)`: its body as it is sent, with the versions known by then. Topics: state, saved {record, data},
   * refused, conflict, discarded, unkept, login.
   */
  constructor({ api, database, user, place, prepare }) {
    super();
    Object.assign(this, { api, database, user, place, prepare });
    this.records = [];
    this.trouble = "";
    addEventListener("online", () => this.kick());
    addEventListener("beforeunload", (event) => {
      if (this.records.some((record) => !record.kept)) event.preventDefault();
    });
    document.addEventListener("visibilitychange", () => document.hidden || this.kick());
  }

  /** Take up what an earlier tab left unsent. */
  async open() {
    for (const { order, ...record } of await this.database.list(this.user, this.place))
      if (!this.records.some((one) => one.id === record.id)) this.records.push({ ...record, kept: true });
    this.emit("state");
    this.kick();
    return this.records;
  }

  /** Records that are not acknowledged. */
  get unsaved() {
    return this.records.length;
  }

  /** What is not sent until a person says so. */
  get parked() {
    return this.records.filter((record) => record.status !== "queued");
  }

  /** What waits about a claim, in order. */
  about(id) {
    return this.records.filter((record) => record.about === id);
  }

  /** `about`: the claim; `apply`: what it changes on the page until it is acknowledged, for whoever draws that. */
  put({ row, method = "POST", path, body, label, about, apply = null }) {
    const id = uuid();
    const facts = { row, method, path, body: { id, ...body }, label, about, apply };
    const record = { id, user: this.user, video: this.place, ...facts, status: "queued" };
    this.records.push(record);
    record.stored = this.database.append(bare(record)).then((kept) => {
      record.kept = kept;
      if (!kept) this.emit("unkept", record);
    });
    this.#tries = 0;
    this.emit("state");
    this.kick();
    return record;
  }

  async kick() {
    clearTimeout(this.#timer);
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let record = this.#next(); record; record = this.#next()) if (!(await this.#send(record))) return;
      this.trouble = "";
    } finally {
      this.#busy = false;
      this.emit("state");
    }
  }

  #next() {
    const held = new Set(this.parked.map((record) => record.row));
    return this.records.find((record) => record.status === "queued" && !held.has(record.row));
  }

  /** Whether the next one may be sent. */
  async #send(record) {
    let answer;
    try {
      answer = await this.api.ask(record.method, record.path, this.prepare(record));
    } catch {
      return this.#later("The studio cannot be reached. What you said is kept on this computer and is sent by itself.");
    }
    const { status, data } = answer;
    if (status === 401 || (status === 403 && (await this.#isOut()))) {
      this.trouble = "You were logged out. What you said is kept on this computer.";
      this.emit("login");
      return false;
    }
    if (PASSING.has(status)) return this.#later(`The studio answered ${status}. It is kept here and is sent again.`);
    this.#tries = 0;
    this.trouble = "";
    if (status >= 200 && status < 300) {
      await this.#forget(record);
      this.emit("saved", { record, data });
      return true;
    }
    record.status = status === 409 ? "conflict" : "refused";
    record.error = data?.error ?? `The studio answered ${status}.`;
    record.answer = data;
    await this.database.update(record.id, { status: record.status, error: record.error });
    this.emit(record.status, record);
    return true;
  }

  async #forget(record) {
    this.records = this.records.filter((one) => one !== record);
    await record.stored;
    await this.database.remove(record.id);
  }

  /** A refusal that means: somebody else, or nobody, is logged in in this browser by now. */
  async #isOut() {
    try {
      const user = await this.api.session();
      return String(user?.id ?? "") !== String(this.user);
    } catch {
      return true;
    }
  }

  #later(sentence) {
    this.trouble = sentence;
    this.#timer = setTimeout(() => this.kick(), AGAIN_MS[Math.min(this.#tries++, AGAIN_MS.length - 1)]);
    return false;
  }

  /** Send a parked record again. */
  async retry(record) {
    Object.assign(record, { status: "queued", error: undefined });
    await this.database.update(record.id, { status: "queued", error: undefined });
    this.emit("state");
    this.kick();
  }

  async discard(record) {
    await this.#forget(record);
    this.emit("discarded", record);
    this.emit("state");
    this.kick();
  }
}

const bare = ({ stored, kept, answer, ...record }) => record;
