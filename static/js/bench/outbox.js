/**
 * Answers on their way: each is written to this computer before anything else happens, and goes only when the studio
 * has acknowledged or refused it. A lost connection, a closed tab or an expired login keep it; sent twice, it counts
 * once, because its id is made here.
 *
 * One entry of local storage per answer, so that tabs do not write over each other's.
 */

import { ApiError } from "../workspace/api.js";
import { Topics } from "../workspace/dom.js";

const AGAIN_MS = [500, 1000, 2000, 4000, 8000];
const PASSING = new Set([408, 425, 429, 500, 502, 503, 504]); // worth sending again

export class Outbox extends Topics {
  #front;
  #memory = new Map(); // what the browser would not keep on disk
  #busy = false;
  #tries = 0;
  #timer = 0;

  /** `user`: whose answers; `api`: see workspace/api.js. Topics: state, sent, refused, login. */
  constructor({ api, user }) {
    super();
    this.api = api;
    this.user = user;
    this.trouble = "";
    this.#front = `sightline-answer ${user} `;
    addEventListener("online", () => this.kick());
    addEventListener("storage", (event) => event.key?.startsWith(this.#front) && this.emit("state"));
    document.addEventListener("visibilitychange", () => document.hidden || this.kick());
  }

  /** Every answer that waits, oldest first. */
  get waiting() {
    const found = new Map(this.#memory);
    try {
      for (const key of Object.keys(localStorage)) {
        if (!key.startsWith(this.#front)) continue;
        const record = JSON.parse(localStorage.getItem(key));
        if (record) found.set(record.id, record);
      }
    } catch (error) {
      console.warn("Answers on this computer cannot be read.", error);
    }
    return [...found.values()].sort((a, b) => a.at - b.at);
  }

  /** Whether an answer to this question waits here. */
  holds(question) {
    return this.waiting.some((record) => record.question === question);
  }

  /** @param {{id: string, question: string, path: string, body: object}} record */
  put(record) {
    const kept = { ...record, at: Date.now() };
    try {
      localStorage.setItem(this.#front + record.id, JSON.stringify(kept));
    } catch {
      this.#memory.set(record.id, kept);
    }
    this.#tries = 0;
    this.emit("state");
    this.kick();
  }

  #remove(id) {
    this.#memory.delete(id);
    try {
      localStorage.removeItem(this.#front + id);
    } catch {
      // a browser without local storage holds nothing
    }
  }

  /** Send what waits, one after another. */
  async kick() {
    clearTimeout(this.#timer);
    if (this.#busy) return;
    this.#busy = true;
    try {
      for (let record = this.waiting[0]; record; record = this.waiting[0]) {
        const done = await this.#send(record);
        if (!done) return;
      }
      this.trouble = "";
    } finally {
      this.#busy = false;
      this.emit("state");
    }
  }

  /** Whether the next one may be sent. */
  async #send(record) {
    let answer;
    try {
      answer = await this.api.ask("POST", record.path, record.body);
    } catch {
      return this.#later("The studio cannot be reached. Your answer is kept on this computer and is sent by itself.");
    }
    const { status, data } = answer;
    if (status === 401 || (status === 403 && (await this.#isOut()))) {
      this.trouble = "You were logged out. Your answer is kept on this computer.";
      this.emit("login");
      return false;
    }
    if (PASSING.has(status)) {
      return this.#later(`The studio answered ${status}. Your answer is kept on this computer and is sent again.`);
    }
    this.#remove(record.id);
    this.#tries = 0;
    this.trouble = "";
    if (status >= 200 && status < 300) this.emit("sent", { record, data });
    else this.emit("refused", { record, sentence: new ApiError(status, data).message });
    return true;
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
}
