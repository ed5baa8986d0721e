/** The bench page: its jobs as they move, and what is done with selected questions. */

import { toast } from "../base.js";
import { clock, FINAL, jobWord, stageWords, watchJobs } from "../live.js";

const page = document.querySelector("[data-bench-of]");
const bars = document.querySelector("#bench-jobs");
const KINDS = new Set(page.dataset.benchKinds?.split(" ") ?? []);
const ended = new Set();

function bar(job) {
  const known = bars.querySelector(`[data-job="${job.id}"]`);
  if (known) return known;
  const box = document.createElement("div");
  box.className = "bench-job";
  box.dataset.job = job.id;
  const name = document.createElement("strong");
  name.textContent = jobWord(job.kind);
  const live = document.createElement("div");
  live.className = "live";
  const words = document.createElement("div");
  words.className = "live-words";
  for (const part of ["stage", "percent"]) {
    const word = document.createElement("span");
    word.dataset[part] = "";
    words.append(word);
  }
  const progress = document.createElement("progress");
  progress.max = 1;
  progress.setAttribute("aria-label", jobWord(job.kind));
  live.append(words, progress);
  box.append(name, live);
  bars.append(box);
  return box;
}

function onJob(job) {
  if (!KINDS.has(job.kind)) return;
  const known = bars.querySelector(`[data-job="${job.id}"]`);
  if (FINAL.has(job.state)) {
    if (!known || ended.has(job.id)) return;
    ended.add(job.id);
    known.remove();
    if (job.state === "failed") toast(`${jobWord(job.kind)} failed: ${job.error}`, "error");
    else if (job.state === "done") renew();
    return;
  }
  const box = bar(job);
  box.querySelector("[data-stage]").textContent = stageWords(job);
  const percent = job.state === "running" ? `${Math.floor(job.share * 100)} %` : "";
  box.querySelector("[data-percent]").textContent = percent;
  box.querySelector("progress").value = job.share;
  box.title = job.seconds === null ? "" : clock(job.seconds);
}

/** The whole page is about what the jobs changed: it is loaded again, in place, unless somebody is in the middle of it. */
function renew() {
  if (document.querySelector("dialog[open], [data-select]:checked") || bars.children.length) return;
  window.location.reload();
}

/** A state or a category that is clicked joins the filters as they are now, also those set since the page came. */
function narrow(event) {
  const link = event.target.closest?.("a[data-sets]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  const query = new URLSearchParams(window.location.search);
  const { sets, value } = link.dataset;
  const off = sets !== "state" && query.get(sets) === value; // a second click on a category takes it back
  if (off || !value) query.delete(sets);
  else query.set(sets, value);
  for (const name of ["after", "before"]) query.delete(name);
  window.location.search = query.toString();
}

document.addEventListener("click", narrow);
if (page && bars) watchJobs(page.dataset.benchOf, onJob, (sentence) => toast(sentence, "error"));
