// The clock: media seconds of every frame. The frame is the truth; seconds are read off this table and nothing else.

import { clamp } from "./dom.js";

export class Times {
  /** `seconds`: Float64Array of N+1 media seconds as the player knows them; the last is the end of the last frame. */
  constructor(seconds) {
    this.seconds = seconds;
    this.frames = seconds.length - 1;
    this.duration = seconds[this.frames] - seconds[0];
  }

  /** The frame whose interval holds the media time, clamped. */
  at(media) {
    let low = 0;
    let high = this.frames;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.seconds[middle] <= media) low = middle;
      else high = middle;
    }
    return low;
  }

  /** The frame whose timestamp is nearest to the media time: what a video-frame callback reports. */
  near(media) {
    const k = this.at(media);
    if (k + 1 < this.frames && this.seconds[k + 1] - media < media - this.seconds[k]) return k + 1;
    return k;
  }

  /** A media time inside the frame's own interval; the middle, unless `share` says otherwise. */
  inside(frame, share = 0.5) {
    return this.seconds[frame] + share * (this.seconds[frame + 1] - this.seconds[frame]);
  }

  /** Seconds from the first presented frame to the start of `frame` (0..N). */
  zeroed(frame) {
    return this.seconds[clamp(frame, 0, this.frames)] - this.seconds[0];
  }

  /** The frame shown `zeroed` seconds after the first one. */
  frameAt(zeroed) {
    return this.at(zeroed + this.seconds[0]);
  }

  /** `00:01:23.480` */
  clock(frame, decimals = 3) {
    return clockOf(this.zeroed(frame), decimals);
  }

  /** `00:01:23.480 · 2087` */
  name(frame) {
    return `${this.clock(frame)} · ${frame}`;
  }
}

export function clockOf(seconds, decimals = 3) {
  const unit = 10 ** decimals;
  const ticks = Math.round(Math.max(0, seconds) * unit);
  const whole = Math.floor(ticks / unit);
  const pad = (number) => String(number).padStart(2, "0");
  const tail = decimals ? `.${String(ticks % unit).padStart(decimals, "0")}` : "";
  return `${pad(Math.floor(whole / 3600))}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}${tail}`;
}

/** A frame from what a person types: a frame number, `12.5s`, `1:02.5`, `00:01:02.500` (seconds from the first frame). */
export function parseFrame(text, times) {
  const words = text.trim().toLowerCase();
  if (/^\d+$/.test(words)) return clamp(Number(words), 0, times.frames);
  const match = /^(?:(\d+):)?(?:(\d+):)?(\d+(?:\.\d+)?)\s*s?$/.exec(words);
  if (!match || (!words.includes(":") && !words.endsWith("s") && !words.includes("."))) return null;
  const parts = [match[1], match[2]].filter((part) => part !== undefined).map(Number);
  const seconds = parts.reduce((sum, part) => sum * 60 + part, 0) * 60 + Number(match[3]);
  return seconds >= times.duration ? times.frames : times.frameAt(seconds + 1e-9);
}
