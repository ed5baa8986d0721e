/** Moves that keys and buttons share, in the shape that the player's bar expects of the workspace's. */

import { Topics } from "../workspace/dom.js";

export class AuditActions extends Topics {
  constructor({ store, player, window, say }) {
    super();
    Object.assign(this, { store, player, window, say });
    this.looping = false;
    store.on("focus", () => this.#aim());
  }

  /** The claimed span with its control, or the clip. */
  get around() {
    const { claim, clip } = this.store;
    const frames = claim?.place?.frames ?? [];
    if (!frames.length) return claim?.place ? claim.place.span : [clip.start, clip.end];
    return [Math.min(frames[0], claim.place.span[0]), Math.max(frames.at(-1) + 1, claim.place.span[1])];
  }

  neighbour(step) {
    this.store.focus(this.store.at + step);
  }

  nextOpen() {
    const at = this.store.nextOpen();
    if (at === -1) this.say("Every claim has your verdict.");
    else this.store.focus(at);
  }

  /** To where the claim is said to happen: a frame with a mask, near the middle of the span. */
  toWindow() {
    const { claim, clip } = this.store;
    const place = claim?.place;
    if (!place?.timed) return this.player.seek(claim?.thumb?.frame ?? clip.start);
    const middle = (place.span[0] + place.span[1]) / 2;
    const shown = claim.queries.filter(({ role }) => role !== "negative").flatMap(({ frames }) => frames);
    const inside = (frames) => frames.filter((frame) => frame >= place.span[0] && frame < place.span[1]);
    const [best = Math.floor(middle)] =
      [inside(shown), inside(place.frames)]
        .find((frames) => frames.length)
        ?.toSorted((a, b) => Math.abs(a - middle) - Math.abs(b - middle)) ?? [];
    return this.player.seek(Math.max(clip.start, Math.min(clip.end - 1, best)));
  }

  setLooping(on) {
    this.looping = on;
    this.player.loop = on ? this.#loop() : null;
    this.emit("loop", on);
  }

  #loop() {
    const { claim, clip } = this.store;
    return claim?.place && claim.place.span[1] - claim.place.span[0] > 1 ? claim.place.span : [clip.start, clip.end];
  }

  #aim() {
    this.player.loop = this.looping ? this.#loop() : null;
    this.toWindow();
    const [start, end] = this.around;
    if (this.window.x(start) < 0 || this.window.x(end) > this.window.width) this.window.show(start, end, 0.15);
  }

  /** The looked-at frame before or after the one shown. */
  looked(direction) {
    const frames = this.store.claim?.place?.frames ?? [];
    const { frame } = this.player;
    const next = direction > 0 ? frames.find((one) => one > frame) : frames.findLast((one) => one < frame);
    if (next !== undefined) this.player.seek(next);
  }
}
