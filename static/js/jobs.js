/** Live progress in the video list, the job list and a video's details. */

import { toast } from "./base.js";
import { send } from "./http.js";
import { clock, FINAL, jobWord, stageWords, watchJobs } from "./live.js";

const page = document.querySelector("[data-jobs-of]");
const seen = new Map(); // job id -> state last heard
let refreshing = null;

/** Ask for the list again, at most about once a second. */
function refresh() {
  if (refreshing !== null) return;
  refreshing = setTimeout(() => {
    refreshing = null;
    const list = document.querySelector("#videos, #jobs");
    if (list) window.htmx.trigger(list, "refresh");
    else window.location.reload();
  }, 400);
}

function show(bar, job) {
  const long = page.querySelector("#videos") !== null; // the video list names the kind too
  bar.querySelector("[data-stage]").textContent = long ? `${jobWord(job.kind)}: ${stageWords(job)}` : stageWords(job);
  bar.querySelector("[data-percent]").textContent = job.state === "running" ? `${Math.floor(job.share * 100)} %` : "";
  bar.querySelector("progress").value = job.share;
  bar.dataset.state = job.state;
  const row = bar.closest("[data-job-row]");
  if (row && job.seconds !== null) row.querySelector("[data-seconds]").textContent = clock(Math.max(1, job.seconds));
}

function onJob(job) {
  const only = page.dataset.jobsVideo;
  if (only && job.video !== only) return;
  const bar = document.querySelector(`[data-job="${job.id}"]`);
  const before = seen.get(job.id) ?? bar?.dataset.state;
  seen.set(job.id, job.state);
  if (bar && !FINAL.has(job.state)) show(bar, job);
  if (bar ? FINAL.has(job.state) : !FINAL.has(job.state) && before !== job.state) refresh();
}

// -----------------------------------------------------------------------------------------------------------------
// The job list: log, cancel, retry

const openLogs = new Set();

async function showLog(id) {
  const detail = document.getElementById(`log-${id}`);
  if (!detail) return;
  const job = await send("GET", `/api/v1/jobs/${id}`);
  const log = detail.querySelector(".log");
  const atEnd = log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
  log.textContent = job.log || (FINAL.has(job.state) ? "Nothing was logged." : "Nothing was logged yet.");
  detail.querySelector("[data-stages]").textContent = job.stages.map((s) => `${s.stage} ${s.seconds} s`).join(" · ");
  if (atEnd) log.scrollTop = log.scrollHeight;
  if (openLogs.has(id) && !FINAL.has(job.state)) setTimeout(() => showLog(id).catch(report), 1500);
}

function setOpen(id, open) {
  const button = document.querySelector(`[data-log="${id}"]`);
  const detail = document.getElementById(`log-${id}`);
  if (!button || !detail) return;
  button.setAttribute("aria-expanded", String(open));
  const use = button.querySelector("use");
  use.setAttribute("href", use.getAttribute("href").replace(/#.*/, open ? "#down" : "#right"));
  detail.hidden = !open;
}

const report = (error) => toast(error.message, "error");

async function act(button, verb) {
  button.disabled = true;
  try {
    await send("POST", `/api/v1/jobs/${button.dataset.jobCancel ?? button.dataset.jobRetry}/${verb}`);
    toast(verb === "cancel" ? "The job stops." : "The job waits for its turn again.");
  } finally {
    refresh();
  }
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-log]");
  const canceller = event.target.closest("[data-job-cancel]");
  const retrier = event.target.closest("[data-job-retry]");
  if (canceller) act(canceller, "cancel").catch(report);
  if (retrier) act(retrier, "retry").catch(report);
  if (!opener) return;
  const id = opener.dataset.log;
  if (openLogs.delete(id)) setOpen(id, false);
  else {
    openLogs.add(id);
    setOpen(id, true);
    showLog(id).catch(report);
  }
});

document.addEventListener("htmx:afterSwap", () => {
  for (const id of openLogs) {
    setOpen(id, true);
    showLog(id).catch(report);
  }
});

watchJobs(page.dataset.jobsOf, onJob, (sentence) => toast(sentence, "error"));
