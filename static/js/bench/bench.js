/** The bench page: its jobs as they move, and what is done with selected questions. */

import { toast } from "../base.js";
import { send } from "../http.js";
import { clock, FINAL, jobWord, stageWords, watchJobs } from "../live.js";
import { renew } from "../renew.js";

const page = document.querySelector("[data-bench-of]");
const bars = document.querySelector("#bench-jobs");
const KINDS = new Set(page.dataset.benchKinds?.split(" ") ?? []);
const JUST_MS = 10_000; // what ended this long before the page came is told, too: its click led here
const TOLD = "sightline.told"; // ids of jobs whose end was told in this tab
const came = Date.parse(page.dataset.now);

function bar(job) {
  const known = bars.querySelector(`[data-job="${job.id}"]`);
  if (known) return known;
  const box = document.createElement("div");
  box.className = "bench-job";
  box.dataset.job = job.id;
  const name = document.createElement("strong");
  name.textContent = jobWord(job.kind);
  const subject = document.createElement("span");
  subject.className = "bench-job-of";
  subject.textContent = subject.title = job.name;
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
  box.append(name, subject, live);
  bars.append(box);
  return box;
}

function onJob(job) {
  if (!KINDS.has(job.kind)) return;
  const known = bars.querySelector(`[data-job="${job.id}"]`);
  if (FINAL.has(job.state)) {
    known?.remove();
    if ((!known && Date.parse(job.ended) < came - JUST_MS) || !first(job.id)) return;
    if (job.state === "failed") toast(`${jobWord(job.kind)}: ${job.error}`, "error");
    (job.state === "done" ? tell(job) : renew()).catch((error) => toast(error.message, "error"));
    return;
  }
  const box = bar(job);
  box.querySelector("[data-stage]").textContent = stageWords(job);
  const percent = job.state === "running" ? `${Math.floor(job.share * 100)} %` : "";
  box.querySelector("[data-percent]").textContent = percent;
  box.querySelector("progress").value = job.share;
  box.title = job.seconds === null ? "" : clock(job.seconds);
}

/** Whether this tab tells the end of a job for the first time. */
function first(id) {
  const told = JSON.parse(sessionStorage.getItem(TOLD) ?? "[]");
  if (told.includes(id)) return false;
  sessionStorage.setItem(TOLD, JSON.stringify([...told, id].slice(-100)));
  return true;
}

const some = (count, word) => `${count.toLocaleString("en")} ${word}${count === 1 ? "" : "s"}`;
const BAD = { lint: ({ error }) => error > 0, prove: ({ standing, proofs }) => standing < proofs };
const RESULTS = {
  generate: ({ questions, videos }) => `${some(questions, "new question")} from ${some(videos, "video")}.`,
  write: ({ questions, unsigned }) =>
    `${some(questions, "new question")} written${unsigned ? `, ${unsigned.toLocaleString("en")} to be signed` : ""}.`,
  prove: ({ standing, proofs }) => `${standing} of ${some(proofs, "proof")} stand${standing === 1 ? "s" : ""}.`,
  lint: ({ error, warning, items }) =>
    `${some(error, "error")} and ${some(warning, "warning")} in ${some(items, "question")}.`,
  agreement: ({ answers }) => `Agreement is computed from ${some(answers, "answer")}.`,
  release: ({ number }) => `Release ${number} is cut.`,
  "import-responses": ({ made, known }) =>
    `${some(made, "response")} imported${known ? `; ${known.toLocaleString("en")} were there already` : ""}.`,
  snapshot: ({ snapshot }) => `Snapshot ${snapshot} is ready.`,
  evaluate: ({ items }) => `${some(items, "item")} counted.`,
};

/** Say what came of a job, and bring the page up to date. */
async function tell({ id, kind }) {
  const { result } = await send("GET", `/api/v1/jobs/${id}`);
  toast(RESULTS[kind]?.(result) ?? `${jobWord(kind)}: done.`, BAD[kind]?.(result) ? "error" : "ok");
  await renew();
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
