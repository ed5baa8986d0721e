// The queue's place on disk: IndexedDB, shared by all tabs of the browser. What the browser refuses to keep stays in
// memory, for as long as the tab lasts.
//
// An edit goes by its own id, which every tab knows; `order` says which was made first. It grows over all tabs, because
// a writing transaction reads the greatest one before it adds the next.
//
// A transaction takes some milliseconds, and a tab that closes breaks it off. So an edit is noted in local storage first,
// which is written at once, and the note goes when the transaction is through.

const NAME = "sightline-edits";
const STORE = "queue";
const NOTE = "sightline-edit "; // and the name of the database, where it is another page's

function note(front, edit) {
  try {
    localStorage.setItem(front + edit.id, JSON.stringify({ at: performance.timeOrigin + performance.now(), edit }));
  } catch (error) {
    console.warn("An edit could not be noted before it is written.", error);
  }
}

function forget(front, id) {
  try {
    localStorage.removeItem(front + id);
  } catch {
    // a browser without local storage holds no note
  }
}

/** The edits whose writing was broken off, or is under way in another tab, in the order in which they were made. */
function noted(front) {
  try {
    return Object.keys(localStorage)
      .filter((key) => key.startsWith(front))
      .map((key) => JSON.parse(localStorage.getItem(key)))
      .filter(Boolean)
      .sort((a, b) => a.at - b.at)
      .map(({ edit }) => edit);
  } catch (error) {
    console.warn("Noted edits cannot be read.", error);
    return [];
  }
}

function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Lay out the store; edits that an earlier page of ours kept by running number move over. */
function upgrade(request, oldVersion) {
  const store = request.result.createObjectStore(STORE, { keyPath: "id" });
  store.createIndex("owner", ["user", "video"]);
  store.createIndex("order", "order");
  if (oldVersion !== 1) return;
  const before = request.transaction.objectStore("edits").getAll();
  before.onsuccess = () => {
    for (const { seq, ...edit } of before.result) store.put({ ...edit, order: seq });
    request.result.deleteObjectStore("edits");
  };
}

export class EditDatabase {
  #db = null;
  #memory = new Map(); // id -> edit that the disk does not have, or has in an older form
  #removed = new Set(); // ids that the disk would not let go of
  #last = 0;
  #front;

  /** `name`: of the database; each kind of page has its own queue. */
  constructor(name = NAME) {
    this.name = name;
    this.#front = name === NAME ? NOTE : `${name} `;
  }

  /** False when the browser keeps nothing on disk: then the queue lasts as long as the tab. */
  get lasting() {
    return this.#db !== null;
  }

  async open() {
    try {
      const request = indexedDB.open(this.name, 2);
      request.onupgradeneeded = ({ oldVersion }) => upgrade(request, oldVersion);
      this.#db = await asked(request);
      this.#db.onversionchange = () => this.#db.close();
    } catch (error) {
      console.warn("Edits are kept in this tab only: the browser offers no storage.", error);
    }
    await this.recover();
    return this;
  }

  /** Write what was noted. An edit that was written or even saved meanwhile is only sent again, which changes nothing. */
  async recover() {
    for (const edit of noted(this.#front)) await this.append(edit);
  }

  /** Do `work(store)` in one strict transaction; resolves once it is on disk. */
  #write(work) {
    return new Promise((resolve, reject) => {
      const transaction = this.#db.transaction(STORE, "readwrite", { durability: "strict" });
      transaction.oncomplete = () => resolve();
      transaction.onabort = transaction.onerror = () =>
        reject(transaction.error ?? new Error("The browser broke off."));
      work(transaction.objectStore(STORE));
    });
  }

  /** Keep an edit as the newest one, new or not. Resolves to true when it is on disk, false when only in memory. */
  async append(edit) {
    note(this.#front, edit);
    const place = (greatest) => ({ ...edit, order: (this.#last = Math.max(this.#last, greatest) + 1) });
    try {
      if (!this.#db) throw new Error("The browser offers no storage.");
      await this.#write((store) => {
        store.index("order").openCursor(null, "prev").onsuccess = ({ target }) =>
          store.put(place(target.result?.value.order ?? 0));
      });
      this.#memory.delete(edit.id);
      forget(this.#front, edit.id);
      return true;
    } catch (error) {
      console.warn("An edit is kept in this tab only.", error);
      this.#memory.set(edit.id, place(0));
      return false;
    }
  }

  /** Change a kept edit; nothing happens when it has gone meanwhile. */
  async update(id, fields) {
    const held = this.#memory.get(id);
    if (held) return void Object.assign(held, fields);
    let newest = null;
    try {
      if (!this.#db) return undefined;
      await this.#write((store) => {
        store.get(id).onsuccess = ({ target }) => {
          if (target.result) store.put((newest = { ...target.result, ...fields }));
        };
      });
    } catch (error) {
      console.warn("A change of an edit that waits is kept in this tab only.", error);
      if (newest) this.#memory.set(id, newest);
    }
    return undefined;
  }

  /** Take edits off the disk, all of them or none. */
  async remove(...ids) {
    for (const id of ids) {
      this.#memory.delete(id);
      forget(this.#front, id);
    }
    if (!this.#db) return;
    try {
      await this.#write((store) => ids.forEach((id) => store.delete(id)));
    } catch (error) {
      console.warn("Saved edits could not be taken off the disk; sending them again changes nothing.", error);
      for (const id of ids) this.#removed.add(id);
    }
  }

  /** A user's edits of a video, in order. */
  async list(user, video) {
    const mine = (edit) => edit.user === user && edit.video === video;
    const found = new Map([...this.#memory].filter(([, edit]) => mine(edit)));
    if (this.#db)
      for (const edit of await this.#read((store) => store.index("owner").getAll([user, video])))
        if (!found.has(edit.id) && !this.#removed.has(edit.id)) found.set(edit.id, edit);
    const ordered = [...found.values()].sort((a, b) => a.order - b.order);
    this.#last = Math.max(this.#last, ordered.at(-1)?.order ?? 0);
    return ordered;
  }

  async #read(work) {
    return asked(work(this.#db.transaction(STORE, "readonly").objectStore(STORE)));
  }

  /** How many edits of this user wait in other videos: {video: count}. */
  async elsewhere(user, video) {
    if (!this.#db) return {};
    const counts = {};
    for (const edit of await this.#read((store) => store.getAll()))
      if (edit.user === user && edit.video !== video) counts[edit.video] = (counts[edit.video] ?? 0) + 1;
    return counts;
  }
}
