/** The page of one run: its head, curves and log as they move, and what an admin does with it. */

import { toast } from "../base.js";
import { renew } from "../renew.js";
import { clock } from "../live.js";
import { setUpActions } from "./actions.js";
import { Charts } from "./charts.js";
import { Log } from "./log.js";
import { Metrics } from "./metrics.js";
import { alarmOf, restOf, specsOf, WATCH } from "./specs.js";
import { watchRun } from "./watch.js";

const page = document.querySelector("#run");
const { address, csv, shows } = page.dataset;
const metrics = new Metrics(`${address}/metrics`);
const log = new Log(page.querySelector("#log"), address);
const make = (spec) => ({
  spec,
  sources: [{ label: spec.title, metrics }],
  csv: ({ name, spread }) => `${csv}?${new URLSearchParams([name, spread].filter(Boolean).map((one) => ["name", one]))}`,
});
const groups = [];
for (const [selector, specs] of [
  ["#charts", specsOf],
  ["#charts-watch", (names) => WATCH.filter(({ name }) => names.includes(name))],
  ["#charts-rest", restOf],
]) {
  const root = page.querySelector(selector);
  if (root) groups.push(new Charts({ root, specs, make }));
}

const AGAIN_MS = 1000; // while somebody is in the middle of something, the head waits for the end of it

/** What of a run the server draws: where any of it changes, the parts that show it are asked for again. */
const drawn = ({ state, attempt, sentence, step, job, preflight, may }) =>
  JSON.stringify([
    ...[state, attempt, sentence, step ? "" : job?.stage, may],
    ...[preflight.state, preflight.fresh, preflight.at ?? preflight.job],
  ]);
let shown = ""; // as it was drawn
let attempt = Number(page.dataset.attempt);
let version = Number(page.dataset.version);
let job = null; // that trains it
let waiting = null;

setUpActions(address, () => ({ version, job }));

function report(error) {
  if (error.name !== "AbortError") toast(error.message, "error");
}

function drawHead(row) {
  const bar = page.querySelector("#run-progress");
  if (!bar) return;
  bar.max = Math.max(1, row.max_steps);
  bar.value = row.step;
  page.querySelector("#run-step").textContent = row.max_steps ? `step ${row.step} of ${row.max_steps}` : "no step yet";
  const left = page.querySelector("#run-left");
  if (left) left.textContent = row.seconds_left ? `about ${clock(row.seconds_left)} left` : "";
}

async function drawMetrics(again = false) {
  if (!groups.length) return;
  const fresh = await metrics.renew();
  const { names } = metrics;
  if (fresh || again) for (const group of groups) group.draw(names);
  for (const empty of page.querySelectorAll("[data-empty-of]")) {
    const root = page.querySelector(empty.dataset.emptyOf);
    empty.hidden = root.children.length > 0; // hidden, too, until it is known that nothing is logged
  }
  if (!fresh && !again) return;
  const rest = page.querySelector("#rest");
  if (rest) rest.hidden = page.querySelector("#charts-rest").children.length === 0;
  drawAlarms();
  if (page.dataset.ready !== "all") performance.mark("run-ready");
  page.dataset.ready = "all";
}

/** Which alarm lines are crossed just now, in words beside the tab. */
function drawAlarms() {
  const crossed = WATCH.filter((spec) => alarmOf(spec, metrics.column(spec.name)) === "alarm");
  const badge = page.querySelector("#alarms");
  if (!badge) return;
  badge.hidden = crossed.length === 0;
  badge.textContent = String(crossed.length);
  badge.title = crossed.map(({ title }) => title).join(", ");
  for (const mark of page.querySelectorAll("[data-alarm-of]")) {
    const spec = WATCH.find(({ name }) => name === mark.dataset.alarmOf);
    const word = alarmOf(spec, metrics.column(spec.name));
    mark.dataset.alarm = word;
    mark.textContent = { alarm: "over its line", quiet: "within its line", unknown: "nothing logged" }[word];
  }
}

async function onRun(row) {
  version = row.version;
  job = row.job?.id ?? null;
  drawHead(row);
  if (row.attempt !== attempt) {
    // an attempt that goes on from an earlier step takes back what came after it
    attempt = row.attempt;
    metrics.clear();
    await drawMetrics(true);
  }
  const first = shown === "" && row.state === page.dataset.state && row.preflight.state === page.dataset.preflight;
  if (first) shown = drawn(row);
  if (drawn(row) !== shown) await redraw(row);
}

async function redraw(row) {
  clearTimeout(waiting);
  if (!(await renew("#run [data-renew]"))) {
    waiting = setTimeout(() => redraw(row).catch(report), AGAIN_MS);
    return;
  }
  if (page.dataset.state === "draft" && row.state !== "draft" && shows === "curves") {
    window.location.reload(); // from now on it has curves
    return;
  }
  shown = drawn(row);
  page.dataset.state = row.state;
  drawHead(row);
  drawAlarms();
}

watchRun(address, {
  onRun: (row) => onRun(row).catch(report),
  onMetrics: () => {
    drawMetrics().catch(report);
    log.renew().catch(report);
  },
  onEnd: (sentence) => toast(sentence, "error"),
});
page.querySelector("#log")?.closest("details").addEventListener("toggle", () => log.renew().catch(report));
drawMetrics(true).catch(report);
log.renew().catch(report);
if (shows === "rollouts") page.dataset.ready = "all";
