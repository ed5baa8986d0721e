// From events to the lines of the picture: who is joined with whom, by what, for how long within a span.

import { TYPES } from "../workspace/vocabulary.js";

const DIRECTED = new Set(["follower", "initiator"]); // a line from them has a head at the other end

/** Columns into rows. */
export function eventsOf({ events, links }) {
  const rows = events.id.map((id, i) => ({
    id,
    type: events.type[i],
    modality: events.modality[i],
    start: events.start[i],
    end: events.end[i],
    status: events.status[i],
    participants: events.participants[i],
    linked: 0, // events of the other modality that overlap it or lie within 3 s, with a person in both
  }));
  for (let i = 0; i < links.gaze.length; i++) {
    rows[links.gaze[i]].linked++;
    rows[links.gesture[i]].linked++;
  }
  return rows;
}

/** [from, to, directed] of every line an event draws; to === from for what somebody does alone. */
function linesOf(event) {
  const who = (role) => event.participants.filter((pair) => pair[1] === role).map((pair) => pair[0]);
  const [members, targets] = [who("member"), who("target")];
  const actors = [...who("follower"), ...who("initiator")];
  const aims = [...who("leader"), ...targets];
  const lines = actors.flatMap((a) => aims.map((b) => [a, b, true]));
  members.forEach((a, i) => members.slice(i + 1).forEach((b) => lines.push([a, b, false])));
  if (members.length) lines.push(...members.flatMap((a) => targets.map((b) => [a, b, true])));
  if (!lines.length) lines.push(...[...actors, ...members].map((a) => [a, a, false]));
  return lines;
}

/**
 * Lines of the events in [start, end), the longest first: {key, type, from, to, directed, events, seconds, linked}.
 * `number`: person -> number, by which the ends of undirected lines are ordered.
 */
export function linesIn(events, start, end, times, number) {
  const found = new Map();
  for (const event of events) {
    if (event.end <= start || event.start >= end) continue;
    const seconds = times.zeroed(Math.min(event.end, end)) - times.zeroed(Math.max(event.start, start));
    for (const [a, b, directed] of linesOf(event)) {
      const [from, to] = directed || number(a) <= number(b) ? [a, b] : [b, a];
      const key = `${event.type} ${from} ${to} ${directed}`;
      const line = found.get(key) ?? { key, type: event.type, from, to, directed, events: [], seconds: 0, linked: 0 };
      line.events.push(event.id);
      line.seconds += seconds;
      line.linked += event.linked;
      found.set(key, line);
    }
  }
  return [...found.values()].sort((a, b) => b.seconds - a.seconds || (a.key < b.key ? -1 : 1));
}

export const WORD = (line) => TYPES[line.type].word;

/** "Pointing, Person 1 to Person 2: 3 events, 4.5 s" */
export function described(line, name) {
  const who =
    line.from === line.to
      ? name(line.from)
      : `${name(line.from)} ${line.directed ? "to" : "and"} ${name(line.to)}`;
  return `${WORD(line)}, ${who}: ${counted(line.events.length, "event")}, ${line.seconds.toFixed(1)} s`;
}

export const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

/** What the picture shows, in one sentence. */
export function finding(lines, name) {
  const [most] = lines.filter((line) => line.from !== line.to);
  if (!most) return lines.length ? "Nobody is joined with anybody here" : "No events here";
  const pairs = new Map();
  for (const line of lines) {
    if (line.from === line.to) continue;
    const pair = [line.from, line.to].sort().join(" ");
    pairs.set(pair, (pairs.get(pair) ?? 0) + line.seconds);
  }
  const [pair, seconds] = [...pairs].reduce((best, one) => (one[1] > best[1] ? one : best));
  const [a, b] = pair.split(" ").map(name).sort((x, y) => x.localeCompare(y, undefined, { numeric: true }));
  return `${a} and ${b} share the most: ${seconds.toFixed(1)} s of events`;
}

