// What others do: server-sent events tell that there is something new, the changes feed tells what. Polling when the
// stream does not come through.

import { Topics } from "./dom.js";

const POLL_MS = 5000;
const SILENT_MS = 45_000; // the server keeps the stream alive more often than this

export class Live extends Topics {
  #fetching = null;
  #again = false;
  #polling = 0;
  #newest = 0; // the greatest revision heard of

  constructor({ store, queue, api, video, stream }) {
    super();
    Object.assign(this, { store, queue, api, video, stream });
    this.ended = false; // this person may no longer see the video
    queue.on("saved", ({ answer }) => {
      this.#newest = Math.max(this.#newest, answer.revision);
      // the next revision is ours: no need to ask what it was
      if (answer.revision === store.revision + 1) store.revision = answer.revision;
      else if (answer.revision > store.revision) this.fetch();
    });
    // an edit that is let go may have reached the server all the same
    queue.on("discarded", ({ status }) => {
      if (status !== "refused") this.reload().catch((error) => this.#failed(error));
    });
  }

  start() {
    if (this.ended) return;
    this.#listen();
    this.#polling = setInterval(() => {
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
    for (const name of ["message", "open", "alive"])
      this.source.addEventListener(name, () => (this.heard = performance.now()));
  }

  /** Nothing more is asked for: the server says that the video is not this person's to see. */
  #end() {
    this.ended = true;
    clearInterval(this.#polling);
    this.source?.close();
    const kept = this.queue.unsaved ? " Edits that were not saved are kept on this computer." : "";
    this.emit(
      "ended",
      `You can no longer see this video: it was deleted, or you were taken out of its project.${kept}`,
    );
  }

  #failed(error) {
    if (error.status === 403 || error.status === 404) this.#end();
    else if (error.status === 401 && this.queue.unsaved) this.queue.loggedOut();
    else console.warn("Changes could not be fetched; trying again later.", error);
  }

  /** Bring the page up to the server's revision. One request at a time; never rejects. */
  fetch() {
    this.#again = true;
    this.#fetching ??= this.#fetchAll();
    return this.#fetching;
  }

  async #fetchAll() {
    while (this.#again && !this.ended) {
      this.#again = false;
      try {
        await this.#bring();
      } catch (error) {
        this.#failed(error);
      }
    }
    this.#fetching = null;
  }

  async #bring() {
    const { store, queue, api, video } = this;
    const answer = await api.get(`/videos/${video}/changes?since=${store.revision}`);
    if (answer.reload) return this.reload();
    const others = [];
    for (const edit of answer.edits) {
      const record = queue.waiting(edit.id);
      if (record?.status === "stuck") await queue.settle(record, edit);
      if (record) continue; // our own: its answer is on its way
      const fresh = edit.changes.filter((change) => store.isNews(change, edit.revision));
      if (fresh.length) queue.reapply(fresh, edit.revision);
      if (!queue.acknowledged.has(edit.id)) others.push(edit);
    }
    store.revision = Math.max(store.revision, answer.revision);
    if (others.length) this.emit("others", others);
    return undefined;
  }

  /** Everything anew: a run was accepted, or too much has changed. */
  async reload() {
    if (this.ended) return;
    const bundle = await this.api.get(`/videos/${this.video}/bundle`);
    if (String(bundle.me.id) !== String(this.queue.user)) {
      this.queue.loggedOut(bundle.me); // somebody else logged in: this page stays what it is
      return;
    }
    const run = this.store.run?.id;
    this.store.load(bundle);
    this.queue.reapply();
    // the bundle was made before an answer that has come meanwhile
    if (this.#newest > this.store.revision) setTimeout(() => this.fetch());
    this.emit("reloaded", { runChanged: bundle.run?.id !== run });
  }
}
