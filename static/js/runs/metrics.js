/** A run's metrics as columns, brought up to date step by step: what is here already is not asked for again. */

import { send } from "../http.js";

/** From how many logged steps a level is taken at either end of a curve. */
const ENDS = 5;
const FEW = 10; // logged steps, below which a first and a last level say nothing

export class Metrics {
  /** @param {string} address of the endpoint that takes ?since=STEP */
  constructor(address) {
    this.address = address;
    this.asking = null;
    this.again = false;
    this.clear();
  }

  clear() {
    this.steps = [];
    this.columns = new Map(); // name -> values, as long as `steps`
    this.age = (this.age ?? 0) + 1; // an answer to a question from before is dropped
  }

  get last() {
    return this.steps.at(-1) ?? -1;
  }

  get names() {
    return [...this.columns.keys()].sort();
  }

  column(name) {
    return this.columns.get(name) ?? [];
  }

  /**
   * Ask for what came since. One question at a time; whoever asks meanwhile has it asked once more after that, since
   * its answer may be from before. @returns {Promise<boolean>} whether anything came
   */
  renew() {
    if (this.asking) this.again = true;
    else this.asking = this.#ask().finally(() => (this.asking = null));
    return this.asking;
  }

  async #ask() {
    let came = false;
    do {
      this.again = false;
      const { age } = this;
      const { columns } = await send("GET", `${this.address}?since=${this.last}`);
      if (age === this.age) came = this.join(columns) || came;
      else this.again = true;
    } while (this.again);
    return came;
  }

  /** Put rows with a later step behind those that are here; a name that is new has no value for the steps before. */
  join(columns) {
    const fresh = columns.step ?? [];
    const from = fresh.findIndex((step) => step > this.last);
    if (from < 0) return false;
    const before = this.steps.length;
    this.steps.push(...fresh.slice(from));
    for (const [name, values] of Object.entries(columns)) {
      if (name === "step") continue;
      const known = this.columns.get(name) ?? new Array(before).fill(null);
      known.push(...values.slice(from));
      this.columns.set(name, known);
    }
    for (const known of this.columns.values()) while (known.length < this.steps.length) known.push(null);
    return true;
  }
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

export const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** What a curve does, in one sentence: its level over the first and the last logged steps. Few steps show no trend. */
export function finding({ title, plural }, values, write) {
  const known = values.filter(isNumber);
  if (known.length === 0) return `${title}: nothing logged yet`;
  if (known.length === 1) return `${title}: ${write(known[0])}`;
  if (known.length < FEW) return `${title}: ${write(known.at(-1))} after ${known.length} steps, ${write(known[0])} at first`;
  const ends = [known.slice(0, ENDS), known.slice(-ENDS)];
  const [first, now] = ends.map((steps) => Number(mean(steps).toPrecision(2)));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const noise = Math.max(...ends.map(spread)); // what is less than the steps differ among themselves is no trend
  const still = Math.abs(now - first) <= Math.max(noise, 0.1 * (high - low)) || write(first) === write(now);
  if (still) return `${title} ${plural ? "stay" : "stays"} near ${write(now)}`;
  return `${title} ${now > first ? "rose" : "fell"} from ${write(first)} to ${write(now)} (means of ${ENDS} steps)`;
}

const spread = (values) => Math.sqrt(mean(values.map((value) => (value - mean(values)) ** 2)));

/** A number with as many digits as its size needs. */
export function number(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 1e7)) return value.toExponential(1).replace("e+", "e");
  if (size >= 1000) return Math.round(value).toLocaleString("en");
  return String(Number(value.toPrecision(3)));
}

export const percent = (value) => (isNumber(value) ? `${number(100 * value)} %` : "–");
