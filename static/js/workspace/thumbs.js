// Faces beside the names: cut from the picture as it is shown, the largest and surest face seen so far.

import { afterQuiet, h } from "./dom.js";

const SIZE = 56;
const REST_MS = 1200; // after the page has come to rest, people without a face are looked up
const SHARES = [0.5, 0.25, 0.75, 0.1]; // where in a tracklet to look

export class Thumbs {
  #best = new Map(); // person -> {canvas, score}
  #tried = new Set();
  #second = null; // a video element of our own, so that the player stays where it is

  constructor({ video, store, player, overlay, onchange }) {
    Object.assign(this, { video, store, player, overlay, onchange });
    const rest = afterQuiet(REST_MS, () => this.#gather());
    player.on("settled", (frame) => {
      if (this.#look(frame, video)) this.onchange();
      rest();
    });
  }

  /** Cut out every face of a frame that is better than what is known. True when there was one. */
  #look(frame, video) {
    const records = video && this.overlay.samples?.at(frame);
    let found = false;
    for (const record of records ?? []) {
      if (!record.face) continue;
      const person = this.store.personOf(record.track, frame);
      const frontal = record.kind && record.yaw > -90 ? Math.cos((record.yaw * Math.PI) / 180) : 0.3;
      const score = (0.1 + record.faceScore) * (record.face[3] - record.face[1]) * frontal;
      if (!person || score <= (this.#best.get(person)?.score ?? 0) * 1.3) continue;
      this.#best.set(person, { canvas: this.#cut(record.face, video), score });
      found = true;
    }
    return found;
  }

  /** Look up, one by one, people whom the player has not shown yet. */
  async #gather() {
    if (!this.video || this.gathering || !this.overlay.samples) return;
    this.gathering = true;
    for (const person of this.store.people) {
      if (this.player.playing || document.hidden) break;
      if (this.#best.has(person.id) || this.#tried.has(person.id)) continue;
      this.#tried.add(person.id);
      if (await this.#find(person.id)) this.onchange();
    }
    this.gathering = false;
  }

  async #find(person) {
    const { frame: now } = this.player;
    const away = (one) => Math.max(0, one.start - now, now - one.end);
    const [nearest] = this.store.trackletsOf(person).toSorted((a, b) => away(a) - away(b));
    for (const share of nearest ? SHARES : []) {
      const frame = Math.floor(nearest.start + share * (nearest.end - nearest.start));
      await this.overlay.samples.ready(frame);
      const record = this.overlay.samples.at(frame)?.find((one) => one.track === nearest.track);
      if (record?.face) return this.#look(frame, await this.#show(frame));
    }
    return false;
  }

  /** The second video at a frame. */
  async #show(frame) {
    this.#second ??= Object.assign(document.createElement("video"), {
      src: this.video.src,
      muted: true,
      preload: "auto",
    });
    const seeked = new Promise((done) => this.#second.addEventListener("seeked", done, { once: true }));
    this.#second.currentTime = this.store.times.inside(frame, 0.4);
    await Promise.race([seeked, new Promise((done) => setTimeout(done, 4000))]);
    return this.#second.readyState >= 2 ? this.#second : null;
  }

  #cut([x0, y0, x1, y1], video) {
    const { videoWidth: width, videoHeight: height } = video;
    const side = Math.max((x1 - x0) * width, (y1 - y0) * height) * 1.5;
    const canvas = h("canvas", { width: SIZE, height: SIZE });
    canvas
      .getContext("2d")
      .drawImage(
        video,
        ((x0 + x1) / 2) * width - side / 2,
        ((y0 + y1) / 2) * height - side / 2,
        side,
        side,
        0,
        0,
        SIZE,
        SIZE,
      );
    return canvas;
  }

  /** A picture of the person, or null while none was seen. */
  element(person, size = "") {
    const known = this.#best.get(person);
    if (!known) return null;
    const copy = h("canvas", { width: SIZE, height: SIZE, class: "tl-face" });
    copy.getContext("2d").drawImage(known.canvas, 0, 0);
    const row = this.store.person(person);
    return h(
      "span",
      { class: `tl-portrait ${size}`, style: { "--who": this.overlay.palette.ofPerson(row) } },
      copy,
      h("span", { class: "chip-number", text: String(row.number) }),
    );
  }
}
