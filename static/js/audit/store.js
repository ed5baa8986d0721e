/**
 * What the audit page knows of one response: its claims, which one is in focus, what this person said of each (as the
 * studio acknowledged it, and over it what still waits here), and the masks of the claims looked at.
 */

import { Topics } from "../workspace/dom.js";
import { ClipClock } from "./clock.js";
import { queryId } from "./masks.js";

const ASKED = new Set(["phrase", "reprompt"]);

/** Of another wording what somebody asked for; persons are looked for beside it, for the verdict alone. */
export const askedOf = ({ grounding }) => (grounding?.queries ?? []).filter(({ role }) => ASKED.has(role));

/**
 * A claim as the studio tells it, with its queries in one list and the frames that were looked at as its window: that of
 * a claim without a time is the whole clip. `foreign`: which of them are control frames of a shot the span has no part in.
 */
function claimOf(row, clip, shots) {
  const grounding = row.grounding ?? null;
  const others = row.reprompts.flatMap((one) =>
    askedOf(one).map((query) => ({ ...query, id: queryId(query.id, one.id), role: "reprompt" })),
  );
  const queries = [...(grounding?.queries ?? []), ...others];
  const looked = [grounding, ...row.reprompts.map((one) => one.grounding)].find((one) => one?.looked?.length);
  const place = row.window || row.groundable || looked ? placeOf(row.window, looked, clip, shots) : null;
  const best = queries.find(({ role, best }) => role !== "negative" && best);
  return { ...row, queries, place, thumb: best ? { ...best.best, query: best.id } : null };
}

function placeOf(window, looked, clip, shots) {
  const span = window ?? [clip.start, clip.end];
  const { looked: frames = [], inside = [] } = looked ?? {};
  const shotOf = (frame) => shots.findLastIndex((start) => start <= frame);
  const [first, last] = [shotOf(span[0]), shotOf(Math.max(span[0], span[1] - 1))];
  const foreign = frames.map((frame, i) => !inside[i] && (shotOf(frame) < first || shotOf(frame) > last));
  return { span, frames, inside, foreign, timed: Boolean(window) };
}

export class AuditStore extends Topics {
  /** `task`: the answer of GET /audit/responses/<id>; `times`: Times of the video. Topics: focus, verdict, claim, view. */
  constructor(task, times) {
    super();
    this.task = task;
    this.times = times;
    this.video = task.video;
    this.clip = task.clip;
    this.clock = new ClipClock(task.clock, times, task.clip);
    this.shots = task.video.shots?.length ? task.video.shots : [0];
    this.claims = task.claims.map((row) => claimOf(row, this.clip, this.shots));
    this.persons = Object.values(task.person_map);
    this.waiting = new Map(); // claim id -> what was said of it and is not acknowledged yet
    this.at = 0;
    this.shown = { masks: true, control: false, query: null }; // query: the only one drawn, or null for the claim's own
    this.whose = null; // where everybody's corrections are open: whose are shown
    this.mode = "judge"; // or "correct": a mask is being corrected
    this.index = new Map(this.claims.map((claim, i) => [claim.id, i]));
  }

  get claim() {
    return this.claims[this.at] ?? null;
  }

  /** Whether this person may give verdicts here now. */
  get mayRate() {
    return Boolean(this.task.may.rate && this.task.seat && !this.task.seat.completed);
  }

  focus(at) {
    const next = Math.max(0, Math.min(this.claims.length - 1, at));
    if (next === this.at || !this.claims.length) return;
    const left = this.claim;
    this.at = next;
    Object.assign(this.shown, { control: false, query: null });
    this.emit("focus", left);
  }

  focusOn(id) {
    if (this.index.has(id)) this.focus(this.index.get(id));
  }

  /** The next claim after the one in focus that has no verdict of this person, or -1. */
  nextOpen() {
    const { claims, at } = this;
    for (let k = 1; k <= claims.length; k++) {
      const place = (at + k) % claims.length;
      if (!this.mine(claims[place])) return place;
    }
    return -1;
  }

  // ---- What this person said ----

  /** {verdict, relevance, reason} as said, acknowledged or not; null where nothing is. */
  mine(claim) {
    return this.waiting.get(claim.id) ?? claim.verdict;
  }

  /** Show what waits on this computer (null: nothing does any more). */
  setWaiting(claim, said) {
    if (said) this.waiting.set(claim.id, said);
    else this.waiting.delete(claim.id);
    this.emit("verdict", claim);
  }

  get judged() {
    return this.claims.filter((claim) => this.mine(claim)).length;
  }

  /** Whether a mask is there that could be relevant. */
  hasMasks(claim) {
    return claim.queries.some(({ role, frames }) => role !== "negative" && frames.length);
  }

  /** Claims as the studio has them now. */
  take(rows) {
    for (const row of rows) {
      const place = this.index.get(row.id);
      if (place === undefined) continue;
      this.claims[place] = claimOf(row, this.clip, this.shots);
      this.emit("claim", this.claims[place]);
    }
  }

  /** Some of what is known of a claim has changed. */
  put(claim, changes) {
    Object.assign(claim, changes);
    this.emit("verdict", claim);
  }

  // ---- What is drawn ----

  show(changes) {
    Object.assign(this.shown, changes);
    this.emit("view");
  }

  /** Queries whose masks are drawn now, by id. */
  get drawn() {
    const { claim, shown } = this;
    if (!claim || !shown.masks) return new Set();
    if (shown.query) return new Set([shown.query]);
    const wanted = (query) => (shown.control ? query.role === "negative" : query.role !== "negative");
    const found = claim.queries.filter(wanted);
    const first = found.filter((query) => query.role !== "category" && query.role !== "reprompt");
    return new Set((first.length ? first : found).map(({ id }) => id));
  }

  query(id) {
    return this.claim?.queries.find((one) => one.id === id) ?? null;
  }

  /** {person, number, name} that a printed tag stands for, or null. */
  personOf(tag) {
    return this.task.person_map[String(tag)] ?? null;
  }
}
