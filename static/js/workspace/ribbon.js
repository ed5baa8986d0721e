// The summary of a run (ribbon.bin): whom each track looks at, in runs, and how fast its gaze moves.
//
// Per person the runs and velocities of all their tracklets are put in one order, with pyramids for drawing many frames
// in one pixel: the target that fills most of a bucket, and the least and greatest velocity in it.

import { upperBound } from "./dom.js";
import { KIND } from "./vocabulary.js";

const RUN_BUCKET = 16; // frames, then 32, 64, ...
const VELOCITY_BUCKET = 4;
const PERSON = 16; // code of a run at person lane n is PERSON + n; below it, the kind
const MISSING = 65_535;
const ARRAYS = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  uint8: Uint8Array,
  uint16: Uint16Array,
  uint32: Uint32Array,
};

export class Ribbon {
  constructor(buffer) {
    const view = new DataView(buffer);
    const length = view.getUint32(0, true);
    this.header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
    if (this.header.v !== 1) throw new Error(`The run's summary has version ${this.header.v}; this page reads 1.`);
    this.frames = this.header.frames;
    this.vmax = this.header.vmax;
    for (const [name, { offset, dtype, count }] of Object.entries(this.header.sections)) {
      const Array = ARRAYS[dtype.replace("<", "").replace(/^u([124])$/, (_, bytes) => `u${bytes * 8}`)];
      this[name] = new Array(buffer, offset, count);
    }
    this.velocityOf = new Map(this.header.tracks.map(({ track, first, count }) => [track, { first, count }]));
    this.#sortRuns();
    this.lanes = new Map();
  }

  /** Run numbers per track, by start. */
  #sortRuns() {
    this.runsOf = new Map();
    for (let i = 0; i < this.run_track.length; i++) {
      const track = this.run_track[i];
      if (!this.runsOf.has(track)) this.runsOf.set(track, []);
      this.runsOf.get(track).push(i);
    }
    for (const list of this.runsOf.values()) {
      const sorted = list.every((run, i) => !i || this.run_start[list[i - 1]] <= this.run_start[run]);
      if (!sorted) list.sort((a, b) => this.run_start[a] - this.run_start[b]);
    }
  }

  /** Have everybody's pyramids ready before they are zoomed through, one person at a time while the page rests. */
  prepare(store) {
    const waiting = store.people.map((person) => person.id);
    const next = () => {
      const person = waiting.shift();
      if (!person) return;
      this.lane(store, person).prepare();
      requestIdleCallback(next);
    };
    requestIdleCallback(next);
  }

  /** A person's lane; made when it is first drawn and again when identities changed. */
  lane(store, person) {
    if (this.stamp !== store.identityStamp) {
      this.lanes.clear();
      this.stamp = store.identityStamp;
    }
    if (!this.lanes.has(person)) this.lanes.set(person, new PersonLane(this, store, person));
    return this.lanes.get(person);
  }
}

class PersonLane {
  constructor(ribbon, store, person) {
    this.frames = ribbon.frames;
    this.vmax = ribbon.vmax;
    this.tracklets = store.trackletsOf(person);
    this.ribbon = ribbon;
    this.#gatherRuns(ribbon, store, this.tracklets);
  }

  #gatherRuns(ribbon, store, tracklets) {
    const starts = [];
    const ends = [];
    const codes = [];
    const filled = [];
    for (const tracklet of tracklets) {
      const runs = ribbon.runsOf.get(tracklet.track) ?? [];
      const from = Math.max(0, upperBound(runs, tracklet.start, (run) => ribbon.run_start[run]) - 1);
      for (let i = from; i < runs.length && ribbon.run_start[runs[i]] < tracklet.end; i++) {
        const run = runs[i];
        const start = Math.max(ribbon.run_start[run], tracklet.start);
        const end = Math.min(ribbon.run_end[run], tracklet.end);
        if (end <= start) continue;
        let code = ribbon.run_kind[run];
        if (code === KIND.person) {
          const target = store.personOf(ribbon.run_target[run], start);
          const lane = target === null ? -1 : store.laneOf(target);
          code = lane < 0 ? KIND.scene : PERSON + lane;
        }
        starts.push(start);
        ends.push(end);
        codes.push(code);
        filled.push(ribbon.run_filled[run]);
      }
    }
    this.starts = Uint32Array.from(starts);
    this.ends = Uint32Array.from(ends);
    this.codes = Uint16Array.from(codes);
    this.filled = Uint8Array.from(filled);
  }

  /** Put the velocities in order when they are first asked for. */
  #gatherVelocity() {
    if (this.vFrames) return;
    const { ribbon } = this;
    const frames = [];
    const values = [];
    for (const tracklet of this.tracklets) {
      const range = ribbon.velocityOf.get(tracklet.track);
      if (!range) continue;
      for (let i = range.first; i < range.first + range.count; i++) {
        const frame = ribbon.vel_frame[i];
        if (frame < tracklet.start) continue;
        if (frame >= tracklet.end) break;
        frames.push(frame);
        values.push(ribbon.vel[i]);
      }
    }
    this.vFrames = Uint32Array.from(frames);
    this.values = Uint16Array.from(values);
  }

  /** Make every level of both pyramids. */
  prepare() {
    this.#runLevel(Math.ceil(Math.log2(Math.max(2, this.frames / RUN_BUCKET))));
    this.#velocityLevel(Math.ceil(Math.log2(Math.max(2, this.frames / VELOCITY_BUCKET))));
  }

  /** Runs touching [start, end) one by one: visit(start, end, code, filled). */
  runs(start, end, visit) {
    for (let i = Math.max(0, upperBound(this.ends, start)); i < this.starts.length && this.starts[i] < end; i++)
      visit(this.starts[i], this.ends[i], this.codes[i], this.filled[i]);
  }

  /** Like `runs`, by buckets no wider than `frames` frames, neighbours of one code joined. */
  dominant(start, end, frames, visit) {
    const level = Math.max(0, Math.floor(Math.log2(frames / RUN_BUCKET)));
    const width = RUN_BUCKET << level;
    const codes = this.#runLevel(level);
    let from = -1;
    let current = 0;
    const last = Math.min(codes.length, Math.ceil(end / width));
    for (let i = Math.floor(start / width); i <= last; i++) {
      const code = i < last ? codes[i] : 0;
      if (code === current && from >= 0) continue;
      if (from >= 0 && current) visit(from * width, i * width, current & 0x7fff, current >> 15);
      from = i;
      current = code;
    }
  }

  /** Codes per bucket, 0 where nothing is; bit 15: filled by rule. */
  #runLevel(level) {
    this.runLevels ??= [];
    this.runWeights ??= [];
    if (!this.runLevels.length) this.#runBase();
    while (this.runLevels.length <= level) {
      const below = this.runLevels.at(-1);
      const weights = this.runWeights.at(-1);
      const length = Math.ceil(below.length / 2);
      const codes = new Uint16Array(length);
      const sums = new Uint32Array(length);
      for (let i = 0; i < length; i++) {
        const a = 2 * i;
        const b = Math.min(a + 1, below.length - 1);
        const same = below[a] === below[b] && a !== b;
        const first = weights[a] >= weights[b];
        codes[i] = first ? below[a] : below[b];
        sums[i] = same ? weights[a] + weights[b] : Math.max(weights[a], weights[b]);
      }
      this.runLevels.push(codes);
      this.runWeights.push(sums);
    }
    return this.runLevels[level];
  }

  #runBase() {
    const length = Math.ceil(this.frames / RUN_BUCKET);
    const codes = new Uint16Array(length);
    const weights = new Uint32Array(length);
    for (let i = 0; i < this.starts.length; i++) {
      const code = this.codes[i] | (this.filled[i] << 15);
      for (let bucket = Math.floor(this.starts[i] / RUN_BUCKET); bucket * RUN_BUCKET < this.ends[i]; bucket++) {
        const share = Math.min(this.ends[i], (bucket + 1) * RUN_BUCKET) - Math.max(this.starts[i], bucket * RUN_BUCKET);
        if (code === codes[bucket]) weights[bucket] += share;
        else if (share > weights[bucket]) {
          codes[bucket] = code;
          weights[bucket] = share;
        }
      }
    }
    this.runLevels.push(codes);
    this.runWeights.push(weights);
  }

  /** Velocity samples in [start, end): visit(frame, velocity or NaN). */
  velocities(start, end, visit) {
    this.#gatherVelocity();
    const first = Math.max(0, upperBound(this.vFrames, start) - 1);
    for (let i = first; i < this.vFrames.length; i++) {
      visit(this.vFrames[i], this.values[i] === MISSING ? NaN : (this.values[i] * this.vmax) / 65_534);
      if (this.vFrames[i] > end) break;
    }
  }

  /** Least and greatest velocity per bucket no wider than `frames` frames: visit(frame, low, high); gaps are left out. */
  extremes(start, end, frames, visit) {
    const level = Math.max(0, Math.floor(Math.log2(frames / VELOCITY_BUCKET)));
    const width = VELOCITY_BUCKET << level;
    const { low, high } = this.#velocityLevel(level);
    const unit = this.vmax / 65_534;
    for (let i = Math.floor(start / width); i < Math.min(low.length, Math.ceil(end / width)); i++)
      if (low[i] !== MISSING) visit(i * width, low[i] * unit, high[i] * unit);
  }

  #velocityLevel(level) {
    this.#gatherVelocity();
    this.velocityLevels ??= [];
    if (!this.velocityLevels.length) {
      const length = Math.ceil(this.frames / VELOCITY_BUCKET);
      const base = { low: new Uint16Array(length).fill(MISSING), high: new Uint16Array(length) };
      for (let i = 0; i < this.values.length; i++) {
        const value = this.values[i];
        if (value === MISSING) continue;
        const bucket = Math.floor(this.vFrames[i] / VELOCITY_BUCKET);
        base.low[bucket] = Math.min(base.low[bucket], value);
        base.high[bucket] = Math.max(base.high[bucket], value);
      }
      this.velocityLevels.push(base);
    }
    while (this.velocityLevels.length <= level) {
      const below = this.velocityLevels.at(-1);
      const length = Math.ceil(below.low.length / 2);
      const next = { low: new Uint16Array(length), high: new Uint16Array(length) };
      for (let i = 0; i < length; i++) {
        const b = Math.min(2 * i + 1, below.low.length - 1);
        next.low[i] = Math.min(below.low[2 * i], below.low[b]);
        next.high[i] = Math.max(below.high[2 * i], below.high[b]);
      }
      this.velocityLevels.push(next);
    }
    return this.velocityLevels[level];
  }

  /** {code, filled, velocity} that hold at a frame, for the read-out. */
  at(frame) {
    this.#gatherVelocity();
    const i = upperBound(this.ends, frame);
    const inside = i < this.starts.length && this.starts[i] <= frame;
    const v = upperBound(this.vFrames, frame) - 1;
    const velocity = v >= 0 && this.values[v] !== MISSING ? (this.values[v] * this.vmax) / 65_534 : NaN;
    return { code: inside ? this.codes[i] : 0, filled: inside && this.filled[i] === 1, velocity };
  }
}

/** Lane number of the person a code names, or -1. */
export const laneOfCode = (code) => (code >= PERSON ? code - PERSON : -1);
