/** Jobs as they move: server-sent events, and a question every two seconds where those do not get through. */

import { send } from "./http.js";

const POLL_MS = 2000;
const PATIENCE = 3; // failed connections in a row before polling starts

export const FINAL = new Set(["done", "failed", "cancelled"]);

/**
 * Call `onJob` with each job of a project that changes (rows of /api/v1/jobs).
 * @param {string} slug @param {(job: object) => void} onJob @param {(sentence: string) => void} onEnd access is gone
 * @returns {() => void} stop
 */
export function watchJobs(slug, onJob, onEnd = () => {}) {
  let timer = null;
  let failures = 0;
  let stopped = false;
  const source = new EventSource(`/api/v1/projects/${slug}/jobs/stream`);

  async function poll() {
    try {
      for (const job of (await send("GET", `/api/v1/jobs?project=${slug}&limit=50`)).reverse()) onJob(job);
    } catch (error) {
      if (error.status === 401 || error.status === 403 || error.status === 404) {
        onEnd(error.message);
        return;
      }
    }
    if (!stopped) timer = setTimeout(poll, POLL_MS);
  }

  source.addEventListener("job", (event) => {
    failures = 0;
    onJob(JSON.parse(event.data));
  });
  source.addEventListener("open", () => {
    failures = 0;
  });
  source.addEventListener("error", () => {
    failures += 1;
    if (source.readyState !== EventSource.CLOSED && failures < PATIENCE) return;
    source.close();
    if (!stopped && timer === null) poll();
  });

  function stop() {
    stopped = true;
    source.close();
    clearTimeout(timer);
  }
  window.addEventListener("pagehide", stop, { once: true });
  return stop;
}

const WORDS = {
  import: "Import",
  perceive: "Perception",
  derive: "Social events",
  gestures: "Gestures",
  masks: "Masks",
  match: "Comparison",
  accept: "Acceptance",
  "import-run": "Run import",
  generate: "Questions",
  write: "Written questions",
  prove: "Proofs",
  agreement: "Agreement",
  clip: "Clip",
  release: "Release",
  audit: "Audit",
  respond: "Responses",
  reprompt: "Other wording",
  "audit-report": "Audit report",
  "import-responses": "Import of responses",
  snapshot: "Snapshot",
  preflight: "Preflight",
  train: "Training",
  evaluate: "Evaluation",
};

/** What a job is doing, as its row says it; a stage that only repeats the kind beside it says nothing. */
export function stageWords(job) {
  if (job.cancel_requested) return "stopping";
  if (job.state === "queued") return "waiting";
  return jobWord(job.kind).toLowerCase().split(" ").includes(job.stage) ? "running" : job.stage || "starting";
}

export const jobWord = (kind) => WORDS[kind] ?? kind;

/** Seconds as 0:07 or 1:02:03. */
export function clock(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const pad = (n) => String(n).padStart(2, "0");
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
  return hours ? `${hours}:${pad(minutes)}:${pad(rest)}` : `${minutes}:${pad(rest)}`;
}
