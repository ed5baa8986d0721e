// The queue's place on disk: IndexedDB, shared by all tabs of the browser. In memory when the browser refuses.

const NAME = "sightline-edits";

function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

export class EditDatabase {
  #db = null;
  #memory = new Map();
  #next = 1;

  /** False when the browser keeps nothing on disk: then the queue lasts as long as the tab. */
  get lasting() {
    return this.#db !== null;
  }

  async open() {
    try {
      const request = indexedDB.open(NAME, 1);
      request.onupgradeneeded = () => {
        const edits = request.result.createObjectStore("edits", { keyPath: "seq", autoIncrement: true });
        edits.createIndex("owner", ["user", "video"]);
      };
      this.#db = await asked(request);
      this.#db.onversionchange = () => this.#db.close();
    } catch (error) {
      console.warn("Edits are kept in this tab only: the browser offers no storage.", error);
    }
    return this;
  }

  #store(mode) {
    return this.#db.transaction("edits", mode, { durability: "strict" }).objectStore("edits");
  }

  /** Add an edit at the end; returns its place in the order. */
  async add(edit) {
    if (this.#db) return asked(this.#store("readwrite").add(edit));
    const seq = this.#next++;
    this.#memory.set(seq, { ...edit, seq });
    return seq;
  }

  async put(edit) {
    if (this.#db) await asked(this.#store("readwrite").put(edit));
    else this.#memory.set(edit.seq, edit);
  }

  async remove(seq) {
    if (this.#db) await asked(this.#store("readwrite").delete(seq));
    else this.#memory.delete(seq);
  }

  /** A user's edits of a video, in order. */
  async list(user, video) {
    const found = this.#db
      ? await asked(this.#store("readonly").index("owner").getAll([user, video]))
      : [...this.#memory.values()].filter((edit) => edit.user === user && edit.video === video);
    return found.sort((a, b) => a.seq - b.seq);
  }

  /** How many edits of this user wait in other videos: {video: count}. */
  async elsewhere(user, video) {
    if (!this.#db) return {};
    const counts = {};
    for (const edit of await asked(this.#store("readonly").getAll()))
      if (edit.user === user && edit.video !== video) counts[edit.video] = (counts[edit.video] ?? 0) + 1;
    return counts;
  }
}
