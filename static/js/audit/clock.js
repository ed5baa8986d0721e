/**
 * The clip's clock, by which the model counted: what second a source frame begins at. A cut clip has its own, which the
 * studio tells frame by frame; between the frames that it shows it goes in proportion, as `ml.questions.clip` has it.
 */

import { clamp, upperBound } from "../workspace/dom.js";

export class ClipClock {
  /** `clock`: {frame, seconds, end_s}, not falling; `times`: of the source video; `clip`: {start, end} in source frames. */
  constructor({ frame, seconds, end_s }, times, { end }) {
    const first = frame.map((one, i) => i === 0 || one > frame[i - 1]);
    this.frame = [...frame.filter((_, i) => first[i]), end];
    this.seconds = [...seconds.filter((_, i) => first[i]), end_s];
    this.times = times;
    this.frames = times.frames;
  }

  /** Seconds on the clip's clock at the start of a frame; outside the clip as the source counts. */
  zeroed(frame) {
    const { times } = this;
    const at = upperBound(this.frame, frame) - 1;
    if (at < 0) return this.seconds[0] - (times.zeroed(this.frame[0]) - times.zeroed(frame));
    if (at === this.frame.length - 1) return this.seconds[at] + times.zeroed(frame) - times.zeroed(this.frame[at]);
    const share = (frame - this.frame[at]) / (this.frame[at + 1] - this.frame[at]);
    return this.seconds[at] + share * (this.seconds[at + 1] - this.seconds[at]);
  }

  /** The source frame that has begun by then. */
  frameAt(seconds) {
    const at = clamp(upperBound(this.seconds, seconds) - 1, 0, this.frame.length - 2);
    const share = (seconds - this.seconds[at]) / (this.seconds[at + 1] - this.seconds[at]);
    const frame = this.frame[at] + share * (this.frame[at + 1] - this.frame[at]);
    return clamp(Math.floor(frame + 1e-9), 0, this.times.frames);
  }
}
