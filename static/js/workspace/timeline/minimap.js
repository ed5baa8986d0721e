// The mini-map: the whole video in one strip, how dense events are and where unreviewed ones wait, and the brush.

import { clamp } from "../dom.js";

const EDGE = 7;

export class Minimap {
  #drag = null;

  constructor({ canvas, window, store, palette, player, redraw }) {
    Object.assign(this, { canvas, window, store, palette, player, redraw });
    canvas.addEventListener("pointerdown", (event) => this.#down(event));
    canvas.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) canvas.addEventListener(name, () => (this.#drag = null));
    canvas.addEventListener("dblclick", () => this.window.show(0, this.store.times.frames));
  }

  get #scale() {
    return this.canvas.clientWidth / this.store.times.frames;
  }

  /** Events per pixel column, by what state they are in; counted once per change. */
  #counts(width) {
    if (this.counted?.events === this.store.ordered && this.counted.width === width) return this.counted;
    const open = new Uint16Array(width + 1);
    const done = new Uint16Array(width + 1);
    const scale = width / this.store.times.frames;
    for (const event of this.store.ordered) {
      if (event.status === "rejected") continue;
      const counts = event.status === "proposed" ? open : done;
      const last = Math.min(width, Math.floor((event.end - 1) * scale));
      for (let x = Math.floor(event.start * scale); x <= last; x++) counts[x]++;
    }
    this.counted = { events: this.store.ordered, width, open, done, most: Math.max(1, ...open, ...done) };
    return this.counted;
  }

  /** The map is drawn once and kept; only the brush moves over it. `ratio`: device pixels a CSS pixel. */
  draw(pen, width, height, ratio) {
    if (this.kept?.width !== width || this.kept.ratio !== ratio) {
      const canvas = new OffscreenCanvas(Math.round(width * ratio), Math.round(height * ratio));
      const map = canvas.getContext("2d", { alpha: false });
      map.scale(ratio, ratio);
      this.#drawMap(map, width, height);
      this.kept = { canvas, width, ratio };
    }
    pen.drawImage(this.kept.canvas, 0, 0, width, height);
    const scale = width / this.store.times.frames;
    this.#brush(pen, this.window.start * scale, this.window.end * scale, width, height);
  }

  /** Events, shots, coverage or colours have changed. */
  forget() {
    this.kept = null;
  }

  #drawMap(pen, width, height) {
    const { palette, store } = this;
    const scale = width / store.times.frames;
    pen.fillStyle = palette.bg_sunken;
    pen.fillRect(0, 0, width, height);
    store.shots.forEach((shot, i) => {
      if (i % 2 === 0) return;
      pen.fillStyle = palette.shot;
      pen.fillRect(shot * scale, 0, ((store.shots[i + 1] ?? store.times.frames) - shot) * scale, height);
    });
    const { open, done, most } = this.#counts(Math.floor(width));
    const room = height / 2 - 2;
    for (let x = 0; x < width; x++) {
      if (done[x]) this.#column(pen, x, height / 2, -room * Math.sqrt(done[x] / most), palette.ok);
      if (open[x]) this.#column(pen, x, height / 2, room * Math.sqrt(open[x] / most), palette.text_dim);
    }
    for (const cover of store.all("coverage")) {
      pen.fillStyle = palette.ok;
      pen.fillRect(cover.start * scale, height - 2, Math.max(1, (cover.end - cover.start) * scale), 2);
    }
  }

  #column(pen, x, y, length, colour) {
    pen.fillStyle = colour;
    pen.fillRect(x, y, 1, Math.sign(length) * Math.max(2, Math.abs(length)));
  }

  #brush(pen, left, right, width, height) {
    const { palette } = this;
    if (right - left >= width - 1) return;
    pen.fillStyle = palette.dark ? "rgb(0 0 0 / 45%)" : "rgb(90 100 120 / 22%)";
    pen.fillRect(0, 0, left, height);
    pen.fillRect(right, 0, width - right, height);
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.5;
    pen.strokeRect(left + 0.75, 0.75, Math.max(3, right - left - 1.5), height - 1.5);
    pen.lineWidth = 1;
  }

  #down(event) {
    const scale = this.#scale;
    const x = event.offsetX;
    const left = this.window.start * scale;
    const right = this.window.end * scale;
    this.canvas.setPointerCapture(event.pointerId);
    if (Math.abs(x - left) <= EDGE && right - left > 3 * EDGE) this.#drag = { edge: "left" };
    else if (Math.abs(x - right) <= EDGE && right - left > 3 * EDGE) this.#drag = { edge: "right" };
    else {
      if (x < left || x > right) {
        const half = (this.window.end - this.window.start) / 2;
        this.window.show(x / scale - half, x / scale + half);
      }
      this.#drag = { edge: null, grip: x / scale - this.window.start };
    }
  }

  #move(event) {
    const frame = event.offsetX / this.#scale;
    if (!this.#drag) return;
    const { start, end } = this.window;
    const { edge, grip } = this.#drag;
    if (edge === "left") this.window.show(clamp(frame, 0, end - 4), end);
    else if (edge === "right") this.window.show(start, clamp(frame, start + 4, this.store.times.frames));
    else this.window.show(frame - grip, frame - grip + (end - start));
  }
}
