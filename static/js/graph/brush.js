// The time axis below the picture: how dense events are over the whole video, and the part of it that the picture and
// the timeline show. The part is the timeline's own window, so that dragging either moves both.

import { clamp, h } from "../workspace/dom.js";

const LEAST = 4; // frames
const STEP = 0.01; // of the video, for a key
const GRIP = 8;

export class Brush {
  #drag = null;

  constructor({ root, window, times, palette }) {
    Object.assign(this, { root, window, times, palette });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.part = h("div", { class: "graph-brush-part", "aria-hidden": "true" });
    this.handles = ["start", "end"].map((edge) => this.#handle(edge));
    root.replaceChildren(this.canvas, this.part, ...this.handles);
    root.addEventListener("pointerdown", (event) => this.#down(event));
    root.addEventListener("pointermove", (event) => this.#move(event));
    for (const name of ["pointerup", "pointercancel"]) root.addEventListener(name, () => (this.#drag = null));
    root.addEventListener("dblclick", () => window.show(0, times.frames));
  }

  #handle(edge) {
    return h("div", {
      class: "graph-brush-handle",
      role: "slider",
      tabindex: "0",
      "aria-label": edge === "start" ? "First moment shown" : "Last moment shown",
      "aria-valuemin": 0,
      data: { edge },
      onkeydown: (event) => this.#key(event, edge),
    });
  }

  #key(event, edge) {
    const { window, times } = this;
    const step = Math.max(1, times.frames * STEP * (event.shiftKey ? 10 : 1));
    const by = { ArrowLeft: -step, ArrowDown: -step, ArrowRight: step, ArrowUp: step }[event.key];
    const to = { Home: edge === "start" ? 0 : window.start + LEAST, End: times.frames }[event.key];
    if (by === undefined && to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.#set(edge, to ?? (edge === "start" ? window.start : window.end) + by);
  }

  #set(edge, frame) {
    const { window, times } = this;
    if (edge === "start") window.show(clamp(frame, 0, window.end - LEAST), window.end);
    else window.show(window.start, clamp(frame, window.start + LEAST, times.frames));
  }

  get #scale() {
    return this.root.clientWidth / this.times.frames;
  }

  #down(event) {
    const { window } = this;
    const x = event.clientX - this.root.getBoundingClientRect().left;
    const [left, right] = [window.start * this.#scale, window.end * this.#scale];
    this.root.setPointerCapture(event.pointerId);
    if (Math.abs(x - left) <= GRIP) this.#drag = { edge: "start" };
    else if (Math.abs(x - right) <= GRIP) this.#drag = { edge: "end" };
    else {
      const length = window.end - window.start;
      if (x < left || x > right) window.show(x / this.#scale - length / 2, x / this.#scale + length / 2);
      this.#drag = { grip: x / this.#scale - window.start, length };
    }
  }

  #move(event) {
    if (!this.#drag) return;
    const frame = (event.clientX - this.root.getBoundingClientRect().left) / this.#scale;
    const { edge, grip, length } = this.#drag;
    if (edge) this.#set(edge, frame);
    else {
      const start = clamp(frame - grip, 0, this.times.frames - length);
      this.window.show(start, start + length);
    }
  }

  /** The events' density; gaze above the middle, gestures below it. */
  draw(events) {
    const { root, canvas, palette, times } = this;
    const [width, height, ratio] = [root.clientWidth, root.clientHeight, devicePixelRatio];
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    const counts = { gaze: new Uint16Array(width + 1), gesture: new Uint16Array(width + 1) };
    for (const event of events) {
      const last = Math.floor((event.end - 1) * (width / times.frames));
      for (let x = Math.floor(event.start * (width / times.frames)); x <= last; x++) counts[event.modality][x]++;
    }
    const most = Math.max(1, ...counts.gaze, ...counts.gesture);
    const room = height / 2 - 3;
    for (let x = 0; x < width; x++) {
      const [up, down] = [counts.gaze[x], counts.gesture[x]].map((n) => (n ? Math.max(2, room * (n / most)) : 0));
      pen.fillStyle = palette.text_dim;
      pen.fillRect(x, height / 2 - up, 1, up);
      pen.fillStyle = palette.text;
      pen.fillRect(x, height / 2 + 1, 1, down);
    }
    this.follow();
  }

  /** Show where the window is. */
  follow() {
    const { window, times } = this;
    const scale = this.#scale;
    this.part.style.setProperty("left", `${window.start * scale}px`);
    this.part.style.setProperty("width", `${Math.max(2, (window.end - window.start) * scale)}px`);
    this.handles.forEach((handle, i) => {
      const frame = Math.round(i ? window.end : window.start);
      handle.style.setProperty("left", `${frame * scale}px`);
      handle.setAttribute("aria-valuemax", times.frames);
      handle.setAttribute("aria-valuenow", frame);
      handle.setAttribute("aria-valuetext", times.name(frame));
    });
  }
}
