// Samples of the run (tracks.bin): fetched by range in tiles, kept while there is room, read at a frame.
//
// A record has 40 bytes, little endian; records are sorted by (frame, track). A tile holds some blocks of frames and a
// block more on each side, so that the sample before and the one after a frame lie in the same tile.

import { upperBound } from "./dom.js";
import { bytesOf } from "./api.js";

const RECORD = 40;
const BLOCKS = 8; // of 256 frames in a tile
const KEEP_BYTES = 24 * 1024 * 1024;
const UNIT = 16_384;
export const FLAG = { sampled: 1, derived: 2, face: 4, gaze: 8, profile: 16 };

class Tile {
  constructor(buffer) {
    this.view = new DataView(buffer);
    this.bytes = buffer.byteLength;
    this.tracks = new Map(); // track -> {rows, gaze}: record numbers by frame; gaze: of sampled records only
    for (let row = 0; row < this.bytes / RECORD; row++) {
      const track = this.view.getUint16(row * RECORD + 4, true);
      if (!this.tracks.has(track)) this.tracks.set(track, { rows: [], gaze: [] });
      const lists = this.tracks.get(track);
      lists.rows.push(row);
      if (this.view.getUint8(row * RECORD + 6) & FLAG.sampled) lists.gaze.push(row);
    }
  }

  frame(row) {
    return this.view.getUint32(row * RECORD, true);
  }

  #four(at) {
    return [0, 2, 4, 6].map((offset) => this.view.getInt16(at + offset, true) / UNIT);
  }

  #two(at) {
    return [this.view.getInt16(at, true) / UNIT, this.view.getInt16(at + 2, true) / UNIT];
  }

  read(row) {
    const at = row * RECORD;
    const flags = this.view.getUint8(at + 6);
    const target = this.view.getUint16(at + 32, true);
    return {
      frame: this.view.getUint32(at, true),
      track: this.view.getUint16(at + 4, true),
      flags,
      kind: this.view.getUint8(at + 7),
      profile: Boolean(flags & FLAG.profile),
      body: this.#four(at + 8),
      face: flags & FLAG.face ? this.#four(at + 16) : null,
      eye: flags & FLAG.gaze ? this.#two(at + 24) : null,
      gaze: flags & FLAG.gaze ? this.#two(at + 28) : null,
      target: target === 65_535 ? null : target,
      confidence: this.view.getUint8(at + 34) / 255,
      inframe: this.view.getUint8(at + 35) / 255,
      faceScore: this.view.getUint8(at + 36) / 255,
      yaw: this.view.getInt8(at + 38),
      pitch: this.view.getInt8(at + 39),
    };
  }
}

const mix = (a, b, share) => (a && b ? a.map((value, i) => value + share * (b[i] - value)) : a);

export class Samples {
  #tiles = new Map(); // number -> Tile, oldest use first
  #asked = new Map();

  /** `blockRows`: record number at which each block of 256 frames begins; `onload` is told when a tile has come. */
  constructor({ url, blockRows, times, run, onload }) {
    Object.assign(this, { url, blockRows, times, onload });
    // Seconds between two looks where somebody moves
    this.step = 1 / Math.max(run.tracking_rate ?? run.rate, 0.5);
    this.gazeStep = 1 / Math.max(run.rate, 0.5);
  }

  #number(frame) {
    return Math.floor(frame / (256 * BLOCKS));
  }

  /** The tile of a frame when it is here; asks for it otherwise. */
  tile(frame) {
    const number = this.#number(frame);
    const tile = this.#tiles.get(number);
    if (!tile) {
      this.#fetch(number);
      return null;
    }
    this.#tiles.delete(number);
    this.#tiles.set(number, tile);
    return tile;
  }

  /** Have the tile around a frame ready soon. */
  prepare(frame) {
    const number = this.#number(frame);
    if (!this.#tiles.has(number)) this.#fetch(number);
  }

  /** Resolves when the tile of a frame is here, or could not be fetched. */
  async ready(frame) {
    const number = this.#number(frame);
    if (!this.#tiles.has(number)) await this.#fetch(number);
  }

  #fetch(number) {
    if (!this.#asked.has(number)) this.#asked.set(number, this.#bring(number));
    return this.#asked.get(number);
  }

  async #bring(number) {
    try {
      const blocks = this.blockRows.length - 1;
      const first = this.blockRows[Math.max(0, number * BLOCKS - 1)];
      const last = this.blockRows[Math.min(blocks, (number + 1) * BLOCKS + 1)];
      const buffer = first === last ? new ArrayBuffer(0) : await this.#range(first * RECORD, last * RECORD);
      this.#tiles.set(number, new Tile(buffer));
      this.#trim();
      this.#asked.delete(number);
      this.onload();
    } catch (error) {
      console.warn("Boxes could not be fetched.", error);
      setTimeout(() => this.#asked.delete(number), 2000); // not again at once
    }
  }

  /** Bytes [start, end), in as many answers as the server likes. */
  async #range(start, end) {
    const buffer = new Uint8Array(end - start);
    let filled = 0;
    while (filled < buffer.length) {
      const part = new Uint8Array(
        await bytesOf(this.url, { headers: { Range: `bytes=${start + filled}-${end - 1}` } }),
      );
      if (!part.length || part.length > buffer.length - filled) throw new Error("The server ignored the range.");
      buffer.set(part, filled);
      filled += part.length;
    }
    return buffer.buffer;
  }

  #trim() {
    let bytes = 0;
    for (const tile of this.#tiles.values()) bytes += tile.bytes;
    for (const [number, tile] of this.#tiles) {
      if (bytes <= KEEP_BYTES || this.#tiles.size <= 2) break;
      this.#tiles.delete(number);
      bytes -= tile.bytes;
    }
  }

  /** Everybody seen at a frame: records, between samples interpolated and then marked `between`. Null: not here yet.
   * After a track's last sample its box is held for longer than its span can last: the tracklets say where that ends. */
  at(frame) {
    const tile = this.tile(frame);
    if (!tile) return null;
    const now = this.times.zeroed(frame);
    const seen = [];
    for (const lists of tile.tracks.values()) {
      const record = this.#body(tile, lists.rows, frame, now);
      if (!record) continue;
      Object.assign(record, this.#gaze(tile, lists.gaze, frame, now));
      seen.push(record);
    }
    return seen;
  }

  #body(tile, rows, frame, now) {
    const next = upperBound(rows, frame, (row) => tile.frame(row));
    if (!next) return null;
    const before = tile.read(rows[next - 1]);
    if (before.frame === frame) return { ...before, between: false };
    const old = now - this.times.zeroed(before.frame);
    if (next === rows.length) return old <= 2.5 * this.gazeStep ? { ...before, between: true } : null;
    const after = tile.read(rows[next]);
    const gap = this.times.zeroed(after.frame) - this.times.zeroed(before.frame);
    if (gap <= 2.5 * this.step) {
      const share = (frame - before.frame) / (after.frame - before.frame);
      return {
        ...before,
        body: mix(before.body, after.body, share),
        face: mix(before.face, after.face, share),
        between: true,
      };
    }
    return old < this.step ? { ...before, between: true } : null;
  }

  /** The gaze fields that hold at a frame: of the last gaze sample, its point moving to the next one's of the same kind. */
  #gaze(tile, rows, frame, now) {
    const nothing = { kind: 0, eye: null, gaze: null, target: null, profile: false, gazeFrame: null };
    const next = upperBound(rows, frame, (row) => tile.frame(row));
    if (!next) return nothing;
    const before = tile.read(rows[next - 1]);
    const old = now - this.times.zeroed(before.frame);
    if (old > 1.5 * this.gazeStep) return nothing;
    const { kind, target, confidence, inframe, yaw, pitch, profile } = before;
    let { eye, gaze } = before;
    const after = next < rows.length ? tile.read(rows[next]) : null;
    if (after && after.kind === kind && after.target === target && before.frame !== frame) {
      const gap = this.times.zeroed(after.frame) - this.times.zeroed(before.frame);
      if (gap <= 1.5 * this.gazeStep) {
        const share = (frame - before.frame) / (after.frame - before.frame);
        eye = mix(eye, after.eye, share);
        gaze = mix(gaze, after.gaze, share);
      }
    }
    return { kind, target, confidence, inframe, yaw, pitch, profile, eye, gaze, gazeFrame: before.frame };
  }

  /** [frame of the gaze sample that holds at `frame`, frame of the next one] of a track, or null. */
  sampleSpan(track, frame) {
    const lists = this.tile(frame)?.tracks.get(track);
    if (!lists) return null;
    const tile = this.tile(frame);
    const next = upperBound(lists.gaze, frame, (row) => tile.frame(row));
    if (!next) return null;
    const start = tile.frame(lists.gaze[next - 1]);
    const limit = this.times.frameAt(this.times.zeroed(start) + this.gazeStep);
    const end = next < lists.gaze.length ? Math.min(tile.frame(lists.gaze[next]), limit + 1) : limit;
    return [start, Math.max(end, start + 1)];
  }
}
