/**
 * Files go up in pieces, two files at a time. A lost connection is tried again with growing pauses; a proxy that refuses
 * the size of a piece gets smaller ones; after a reload the same file, chosen again, goes on where it stopped.
 */

import { readManifest } from "./csv.js";
import { send } from "./http.js";
import { FINAL, stageWords, watchJobs } from "./live.js";

const AT_ONCE = 2;
const SMALLEST_PIECE = 64 * 1024;
const LONGEST_PAUSE_S = 30;
const TRIES = 12; // of one piece; about four minutes with the pauses

const settings = JSON.parse(document.getElementById("upload-data").textContent);
const list = document.getElementById("uploads");
const template = document.getElementById("upload-row");
const status = document.getElementById("upload-status");
const uploads = [];
const rowsByJob = new Map();
let manifest = new Map();
let unusable = null; // the line of a manifest that cannot be used: what waits is held back while it stands there

const UNITS = ["B", "kB", "MB", "GB", "TB"];

function bytes(number) {
  let value = number;
  let unit = 0;
  while (value >= 1000 && unit < UNITS.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${Number(value.toFixed(value >= 100 ? 0 : 1))} ${UNITS[unit]}`;
}

/** One file on its way, and its line on the page. */
class Upload {
  constructor(name, size) {
    this.name = name;
    this.size = size;
    this.file = null;
    this.id = null;
    this.piece = settings.piece;
    this.received = 0;
    this.abort = new AbortController();
    this.row = template.content.firstElementChild.cloneNode(true);
    this.row.querySelector(".upload-name").textContent = name;
    this.bar = this.row.querySelector("progress");
    this.bar.setAttribute("aria-label", `Progress of ${name}`);
    this.words = this.row.querySelector(".upload-words");
    this.cancelButton = this.row.querySelector("[data-cancel]");
    this.againButton = this.row.querySelector("[data-again]");
    this.cancelButton.addEventListener("click", () => this.cancel());
    this.againButton.addEventListener("click", () => this.again());
    list.append(this.row);
  }

  show(state, words, share = this.size ? this.received / this.size : 0) {
    this.state = state;
    this.row.dataset.state = state;
    this.words.textContent = words;
    this.bar.value = share;
    this.bar.className = state === "done" ? "done" : state === "failed" ? "failed" : "";
    this.againButton.hidden = state !== "failed";
    this.cancelButton.hidden = state === "done" || state === "importing";
    this.cancelButton.textContent = state === "failed" ? "Remove" : "Cancel";
    this.cancelButton.setAttribute("aria-label", `${this.cancelButton.textContent} ${this.name}`);
  }

  again() {
    this.abort = new AbortController();
    this.show("waiting", "Waiting for its turn.");
    next();
  }

  async cancel() {
    this.abort.abort();
    if (uploads.includes(this)) uploads.splice(uploads.indexOf(this), 1);
    this.row.remove();
    status.textContent = `${this.name} is ${this.state === "failed" ? "removed" : "cancelled"}.`;
    if (this === unusable) release();
    if (this.id) {
      try {
        await send("DELETE", `/api/v1/uploads/${this.id}`);
      } catch (error) {
        if (error.status !== 404) status.textContent = error.message;
      }
      forget(this.id);
    }
    next();
  }

  async run() {
    this.show("sending", "Starting.");
    try {
      await this.open();
      await this.sendPieces();
      const facts = manifest.get(this.name) ?? {};
      const { video, job } = await this.patiently(() => send("POST", `/api/v1/uploads/${this.id}/finish`, facts));
      forget(this.id);
      this.id = null; // it is a video now
      const details = this.row.querySelector("[data-details]");
      details.href = `/v/${video}/details/`;
      details.hidden = false;
      rowsByJob.set(job, this);
      this.show("importing", "Arrived. Waiting for the import.", 0);
      status.textContent = `${this.name} has arrived.`;
    } catch (error) {
      if (error.name === "AbortError") return;
      this.show("failed", error.message);
      status.textContent = `${this.name}: ${error.message}`;
    }
  }

  /** Announce the file, or find where an earlier try of the same file stopped. */
  async open() {
    let found = await this.patiently(() => announce(this));
    if (found.received > 0 && changedSince(found.id, this.file)) {
      await send("DELETE", `/api/v1/uploads/${found.id}`);
      found = await announce(this);
    }
    this.id = found.id;
    this.received = found.received;
    this.piece = Math.min(this.piece, found.piece);
    remember(found.id, this.file);
  }

  async sendPieces() {
    const began = performance.now();
    const first = this.received;
    while (this.received < this.size) {
      const part = this.file.slice(this.received, this.received + this.piece);
      const { received } = await this.patiently(() => this.sendPiece(part));
      this.received = received;
      const speed = (received - first) / ((performance.now() - began) / 1000);
      const left = Math.ceil((this.size - received) / Math.max(speed, 1));
      const amount = `${bytes(received)} of ${bytes(this.size)}`;
      this.show("sending", `${amount} · ${bytes(speed)}/s · ${left < 90 ? `${left} s` : `${Math.ceil(left / 60)} min`} left`);
    }
  }

  async sendPiece(part) {
    const address = `/api/v1/uploads/${this.id}?offset=${this.received}`;
    try {
      return await send("PUT", address, part, { signal: this.abort.signal });
    } catch (error) {
      if (error.status === 409 && Number.isInteger(error.body.received)) return error.body; // a retried piece had arrived
      throw error;
    }
  }

  /** Repeat what failed for a passing reason, with pauses of 1, 2, 4 ... 30 seconds. */
  async patiently(attempt) {
    for (let tried = 1; ; tried += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (error.name === "AbortError") throw error;
        if (error.status === 413 && this.piece > SMALLEST_PIECE) {
          this.piece = Math.max(SMALLEST_PIECE, Math.floor(this.piece / 4));
          return { received: this.received };
        }
        const passing = error.status === 0 || error.status === 429 || error.status >= 500;
        if (!passing || tried === TRIES) throw error;
        await this.pause(Math.min(2 ** (tried - 1), LONGEST_PAUSE_S));
      }
    }
  }

  async pause(seconds) {
    for (let left = seconds; left > 0; left -= 1) {
      this.show("sending", `The connection is lost. Trying again in ${left} s; ${bytes(this.received)} are safe.`);
      await new Promise((resolve) => setTimeout(resolve, 1000));
      this.abort.signal.throwIfAborted();
    }
  }
}

const announce = (upload) =>
  send("POST", `/api/v1/projects/${settings.project}/uploads`, { name: upload.name, size: upload.size });

// When a file was changed between two tries its pieces do not fit together: the time of its last change tells
const keyOf = (id) => `sightline-upload-${id}`;
const remember = (id, file) => localStorage.setItem(keyOf(id), String(file.lastModified));
const forget = (id) => localStorage.removeItem(keyOf(id));

function changedSince(id, file) {
  const before = localStorage.getItem(keyOf(id));
  return before !== null && before !== String(file.lastModified);
}

function next() {
  if (unusable) {
    for (const upload of uploads.filter((u) => u.state === "waiting")) {
      upload.show("held", `Held back: ${unusable.name} cannot be used. Choose a corrected manifest, or remove that one.`);
    }
  }
  const running = uploads.filter((u) => u.state === "sending").length;
  const waiting = uploads.filter((u) => u.state === "waiting").slice(0, AT_ONCE - running);
  for (const upload of waiting) upload.run().finally(next);
}

/** The manifest of these files can be used, or is not wanted any more: what it held back goes on. */
function release() {
  unusable?.row.remove();
  unusable = null;
  for (const upload of uploads.filter((u) => u.state === "held")) upload.show("waiting", "Waiting for its turn.");
}

async function take(files) {
  const isManifest = (file) => /\.csv$/i.test(file.name);
  for (const file of files.filter(isManifest)) await takeManifest(file);
  for (const file of files.filter((f) => !isManifest(f))) takeVideo(file);
  next();
}

async function takeManifest(file) {
  const line = new Upload(file.name, file.size);
  try {
    manifest = readManifest(await file.text());
    release();
    line.show("done", `Manifest of ${manifest.size} file${manifest.size === 1 ? "" : "s"}; its words go with videos of these names.`, 1);
  } catch (error) {
    unusable?.row.remove();
    unusable = line;
    line.show("failed", `${file.name}: ${error.message}`);
    line.againButton.hidden = true;
  }
}

function takeVideo(file) {
  let upload = uploads.find((u) => u.name === file.name && u.size === file.size);
  if (upload && !["paused", "failed"].includes(upload.state)) return; // chosen twice
  if (!upload) {
    upload = new Upload(file.name, file.size);
    uploads.push(upload);
  }
  upload.file = file;
  upload.abort = new AbortController();
  const refused =
    (file.size === 0 && "The file is empty: it has 0 bytes.") ||
    (file.size > settings.limit && `The file is larger than this studio accepts (${bytes(settings.limit)}).`);
  upload.show(refused ? "failed" : "waiting", refused || "Waiting for its turn.");
  if (refused) upload.againButton.hidden = true; // the same file would be refused again
}

function setUp() {
  for (const known of settings.unfinished) {
    const upload = new Upload(known.name, known.size);
    Object.assign(upload, { id: known.id, received: known.received });
    uploads.push(upload);
    upload.show("paused", `Stopped at ${bytes(known.received)} of ${bytes(known.size)}. Choose the file again to go on.`);
  }
  const zone = document.getElementById("dropzone");
  document.addEventListener("dragover", (event) => {
    event.preventDefault();
    zone.toggleAttribute("data-over", true);
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) zone.removeAttribute("data-over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    zone.removeAttribute("data-over");
    take([...event.dataTransfer.files]);
  });
  document.getElementById("files").addEventListener("change", (event) => {
    take([...event.target.files]);
    event.target.value = "";
  });
  window.addEventListener("beforeunload", (event) => {
    if (uploads.some((u) => u.state === "sending" || u.state === "waiting")) event.preventDefault();
  });
  watchJobs(settings.project, (job) => {
    const upload = rowsByJob.get(job.id);
    if (!upload) return;
    if (job.state === "done") upload.show("done", "Imported.", 1);
    else if (FINAL.has(job.state)) {
      upload.show("failed", job.error || "The import was cancelled.", 0);
      upload.againButton.hidden = true;
    } else upload.show("importing", `Importing: ${stageWords(job)} · ${Math.floor(job.share * 100)} %`, job.share);
  });
}

setUp();
