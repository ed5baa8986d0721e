// Faces beside the names: cut from the picture as it is shown, the largest and surest face seen so far.

import { h } from "./dom.js";

const SIZE = 56;

export class Thumbs {
  #best = new Map(); // person -> {canvas, score}

  constructor({ video, store, player, overlay, onchange }) {
    Object.assign(this, { video, store, overlay, onchange });
    player.on("settled", (frame) => this.#look(frame));
  }

  #look(frame) {
    const records = this.video && this.overlay.samples?.at(frame);
    if (!records) return;
    let found = false;
    for (const record of records) {
      if (!record.face || record.between) continue;
      const person = this.store.personOf(record.track, frame);
      const frontal = Math.cos((record.yaw * Math.PI) / 180) * Math.cos((record.pitch * Math.PI) / 180);
      const score = record.faceScore * (record.face[3] - record.face[1]) * frontal;
      if (!person || score <= (this.#best.get(person)?.score ?? 0) * 1.3) continue;
      this.#best.set(person, { canvas: this.#cut(record.face), score });
      found = true;
    }
    if (found) this.onchange();
  }

  #cut([x0, y0, x1, y1]) {
    const { videoWidth: width, videoHeight: height } = this.video;
    const side = Math.max((x1 - x0) * width, (y1 - y0) * height) * 1.5;
    const canvas = h("canvas", { width: SIZE, height: SIZE });
    canvas.getContext("2d").drawImage(this.video, ((x0 + x1) / 2) * width - side / 2, ((y0 + y1) / 2) * height - side / 2, side, side, 0, 0, SIZE, SIZE);
    return canvas;
  }

  /** A picture of the person, or null while none was seen. */
  element(person, large = false) {
    const known = this.#best.get(person);
    if (!known) return null;
    const copy = h("canvas", { width: SIZE, height: SIZE, class: "tl-face" });
    copy.getContext("2d").drawImage(known.canvas, 0, 0);
    const row = this.store.person(person);
    return h("span", { class: large ? "tl-portrait large" : "tl-portrait", style: { "--who": this.overlay.palette.ofPerson(row) } }, copy, h("span", { class: "chip-number", text: String(row.number) }));
  }

  get stamp() {
    return [...this.#best.values()].reduce((sum, one) => sum + one.score, this.#best.size);
  }
}
