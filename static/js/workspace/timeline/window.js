// The part of the video that the timeline shows: first frame (fractional) and pixels per frame.

import { Topics, clamp } from "../dom.js";

const WIDEST = 48; // pixels per frame

export class Window extends Topics {
  /** `frames`: length of the video; `width`: of the drawing, in CSS pixels. */
  constructor(frames, width = 1000) {
    super();
    this.frames = frames;
    this.width = width;
    this.start = 0;
    this.scale = width / frames;
  }

  get least() {
    return this.width / this.frames;
  }

  get most() {
    return Math.max(WIDEST, this.least);
  }

  get end() {
    return this.start + this.width / this.scale;
  }

  x(frame) {
    return (frame - this.start) * this.scale;
  }

  /** Fractional frame under a pixel. */
  frame(x) {
    return this.start + x / this.scale;
  }

  resize(width) {
    if (width === this.width || width <= 0) return;
    const whole = this.scale <= this.least * 1.0001;
    this.width = width;
    this.#set(this.start, whole ? this.least : this.scale);
  }

  #set(start, scale) {
    this.scale = clamp(scale, this.least, this.most);
    this.start = clamp(start, 0, Math.max(0, this.frames - this.width / this.scale));
    this.emit("change", this);
  }

  /** Move by pixels. */
  scroll(pixels) {
    this.#set(this.start + pixels / this.scale, this.scale);
  }

  /** Zoom by a factor and keep the frame at pixel `x` where it is. */
  zoom(factor, x = this.width / 2) {
    const frame = this.frame(x);
    const scale = clamp(this.scale * factor, this.least, this.most);
    this.#set(frame - x / scale, scale);
  }

  /** Show [start, end) with a margin (a share of its length on each side). */
  show(start, end, margin = 0) {
    const length = Math.max(end - start, 4) * (1 + 2 * margin);
    const middle = (start + end) / 2;
    const scale = clamp(this.width / length, this.least, this.most);
    this.#set(middle - this.width / scale / 2, scale);
  }

  /** Bring a frame into view by moving, if it is not; `page` moves by whole screens. */
  reveal(frame, page = false) {
    const x = this.x(frame);
    if (x >= 0 && x <= this.width - 2) return;
    const share = page ? 0.04 : 0.3;
    this.#set(frame - (share * this.width) / this.scale, this.scale);
  }
}
