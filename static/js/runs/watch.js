/** A run as it moves: server-sent events; questions every two seconds where those do not get through; after sleep, both. */

import { send } from "../http.js";

const POLL_MS = 2000;
const PATIENCE = 3; // failed connections in a row before polling starts
const QUIET_MS = 20_000; // an open connection says something at least this often

/**
 * @param {string} address of the run below /api/v1
 * @param {{onRun: (row: object) => void, onMetrics: () => void, onEnd: (sentence: string) => void}} told
 */
export function watchRun(address, { onRun, onMetrics, onEnd }) {
  let source = null;
  let timer = null;
  let failures = 0;
  let heard = Date.now();
  let stopped = false;

  async function look() {
    try {
      onRun(await send("GET", `${address}/state`));
      onMetrics();
    } catch (error) {
      if ([401, 403, 404].includes(error.status)) {
        stop();
        onEnd(error.message);
      }
    }
  }

  async function poll() {
    await look();
    if (!stopped) timer = setTimeout(poll, POLL_MS);
  }

  function listen() {
    source?.close();
    source = new EventSource(`${address}/stream`);
    heard = Date.now();
    const hear = (work) => (event) => {
      failures = 0;
      heard = Date.now();
      work(JSON.parse(event.data));
    };
    source.addEventListener("run", hear(onRun));
    source.addEventListener("metrics", hear(onMetrics));
    source.addEventListener("open", () => {
      failures = 0;
      clearTimeout(timer);
      timer = null;
    });
    source.addEventListener("error", () => {
      failures += 1;
      if (source.readyState !== EventSource.CLOSED && failures < PATIENCE) return;
      source.close();
      if (!stopped && timer === null) poll();
    });
  }

  /** The computer slept, or the network was away: what was missed is asked for, and the connection made anew if it is dead. */
  function wake() {
    if (stopped || document.hidden) return;
    look();
    if (source.readyState === EventSource.CLOSED || Date.now() - heard > QUIET_MS) listen();
  }

  function stop() {
    stopped = true;
    source?.close();
    clearTimeout(timer);
  }

  document.addEventListener("visibilitychange", wake);
  window.addEventListener("online", wake);
  window.addEventListener("pagehide", stop);
  window.addEventListener("pageshow", (event) => {
    if (!event.persisted) return;
    stopped = false;
    listen();
    look();
  });
  listen();
}
