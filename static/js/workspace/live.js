// What others do: server-sent events tell that there is something new, the changes feed tells what. Polling when the
// stream does not come through.

import { Topics } from "./dom.js";

const POLL_MS = 5000;
const SILENT_MS = 45_000; // the server keeps the stream alive more often than this

export class Live extends Topics {
  #fetching = null;
  #again = false;

  constructor({ store, queue, api, video, stream }) {
    super();
    Object.assign(this, { store, queue, api, video, stream });
    queue.on("saved", ({ answer }) => {
      // the next revision is ours: no need to ask what it was
      if (answer.revision === store.revision + 1) store.revision = answer.revision;
      else if (answer.revision > store.revision) this.fetch();
    });
  }

  start() {
    this.#listen();
    setInterval(() => {
      const silent = performance.now() - this.heard > SILENT_MS;
      if (this.source.readyState === EventSource.CLOSED || silent) {
        this.fetch();
        if (silent || !document.hidden) this.#listen();
      }
    }, POLL_MS);
    addEventListener("online", () => this.fetch());
  }

  #listen() {
    this.source?.close();
    this.heard = performance.now();
    this.source = new EventSource(this.stream);
    this.source.addEventListener("revision", (event) => {
      this.heard = performance.now();
      if (JSON.parse(event.data).revision > this.store.revision) this.fetch();
    });
    this.source.addEventListener("job", (event) => {
      this.heard = performance.now();
      this.emit("job", JSON.parse(event.data));
    });
    for (const name of ["message", "open", "alive"]) this.source.addEventListener(name, () => (this.heard = performance.now()));
  }

  /** Bring the page up to the server's revision. One request at a time. */
  async fetch() {
    if (this.#fetching) {
      this.#again = true;
      return this.#fetching;
    }
    this.#fetching = this.#bring();
    try {
      await this.#fetching;
    } catch (error) {
      if (error.status === 401 && this.queue.unsaved) this.queue.emit("login");
      else console.warn("Changes could not be fetched; trying again later.", error);
    } finally {
      this.#fetching = null;
    }
    if (this.#again) {
      this.#again = false;
      return this.fetch();
    }
    return undefined;
  }

  async #bring() {
    const { store, queue, api, video } = this;
    const answer = await api.get(`/videos/${video}/changes?since=${store.revision}`);
    if (answer.reload) return this.reload();
    const others = [];
    for (const edit of answer.edits) {
      if (queue.knows(edit.id)) continue; // our own: its answer has come or is on its way
      const fresh = edit.changes.filter((change) => this.#isNews(change));
      if (fresh.length) queue.reapply(fresh);
      others.push(edit);
    }
    store.revision = Math.max(store.revision, answer.revision);
    if (others.length) this.emit("others", others);
    return undefined;
  }

  /** A change that the page does not know from an answer of its own. */
  #isNews({ kind, id, before, after }) {
    const known = this.store.base[kind]?.get(id);
    if (after) return !known || known.version < after.version;
    return Boolean(known) && (!before || known.version <= before.version);
  }

  /** Everything anew: a run was accepted, or too much has changed. */
  async reload() {
    const bundle = await this.api.get(`/videos/${this.video}/bundle`);
    const run = this.store.run?.id;
    this.store.load(bundle);
    this.queue.reapply();
    this.emit("reloaded", { runChanged: bundle.run?.id !== run });
  }
}
