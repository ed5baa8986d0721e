/** The player of a clip: it loops, says that the clip is still being cut, and knows when its first picture is shown. */

import { icon } from "../workspace/dom.js";

const NUDGE_S = 0.1;
const STALL_MS = 4000;

export class ClipPlayer {
  #waiting = 0; // timer of the seconds that are counted while the clip is not there
  #shown = null; // what is called when the first picture is on the screen
  #failed = null; // what is called instead when the file does not come or cannot be played

  /** @param {HTMLElement} root the element with `data-clip`, as in `bench/clip.html` */
  constructor(root) {
    this.root = root;
    this.video = root.querySelector("video");
    this.play_ = root.querySelector("[data-clip-play]");
    this.seek_ = root.querySelector("[data-clip-seek]");
    this.wait = root.querySelector(".clip-wait");
    this.play_.addEventListener("click", () => this.toggle());
    root.querySelector("[data-clip-replay]").addEventListener("click", () => this.replay());
    this.seek_.addEventListener("input", () => this.#toShare(Number(this.seek_.value) / 1000));
    const speed = root.querySelector("[data-clip-speed]");
    speed.addEventListener("change", () => {
      this.video.playbackRate = this.video.defaultPlaybackRate = Number(speed.value);
      speed.blur();
    });
    const { video } = this;
    for (const name of ["play", "pause"]) video.addEventListener(name, () => this.#drawState());
    for (const name of ["timeupdate", "seeked", "loadedmetadata"]) video.addEventListener(name, () => this.#drawTime());
    video.addEventListener("loadedmetadata", () => {
      if (video.videoWidth) root.style.setProperty("--ratio", `${video.videoWidth} / ${video.videoHeight}`);
    });
    video.addEventListener("loadeddata", () => this.#ready());
    video.addEventListener("click", () => this.toggle());
    video.addEventListener("error", () => {
      if (!video.getAttribute("src")) return;
      const failed = this.#failed;
      this.#failed = null;
      if (failed) failed();
      else this.say("The clip cannot be played in this browser.", "failed");
    });
  }

  /** Play the clip at an address; `shown` is called once, when its first picture can be seen, else `failed`. */
  load(url, { shown = null, failed = null } = {}) {
    this.#stopWaiting();
    this.#shown = shown;
    this.#failed = failed;
    this.root.dataset.state = "loading";
    this.video.src = url;
    const slow = setTimeout(() => {
      if (this.root.dataset.state === "loading") this.say("The clip is on its way.", "loading");
    }, STALL_MS);
    this.video.addEventListener("loadeddata", () => clearTimeout(slow), { once: true });
  }

  /** Nothing to play. */
  clear() {
    this.#stopWaiting();
    this.video.pause();
    this.video.removeAttribute("src");
    this.video.load();
    this.root.dataset.state = "empty";
  }

  /** A sentence in the place of the picture; `since` (ms of the clock) counts the seconds that were waited. */
  say(sentence, state, since = null) {
    this.#stopWaiting();
    this.root.dataset.state = state;
    this.wait.hidden = false;
    this.wait.querySelector(".clip-wait-words").textContent = sentence;
    const time = this.wait.querySelector(".clip-wait-time");
    const count = () => (time.textContent = `${Math.max(0, Math.round((Date.now() - since) / 1000))} s`);
    time.textContent = "";
    if (since === null) return;
    count();
    this.#waiting = setInterval(count, 1000);
  }

  #stopWaiting() {
    clearInterval(this.#waiting);
    this.wait.hidden = true;
  }

  #ready() {
    this.#stopWaiting();
    this.root.dataset.state = "ready";
    this.video.play().catch(() => {}); // a browser that does not start by itself waits for the button
    const shown = this.#shown;
    this.#shown = null;
    shown?.();
  }

  get playable() {
    return this.root.dataset.state === "ready";
  }

  toggle() {
    if (!this.playable) return;
    if (this.video.paused) this.video.play().catch(() => {});
    else this.video.pause();
  }

  replay() {
    if (!this.playable) return;
    this.video.currentTime = 0;
    this.video.play().catch(() => {});
  }

  nudge(direction) {
    if (!this.playable) return;
    this.video.pause();
    const { currentTime, duration } = this.video;
    this.video.currentTime = Math.min(Math.max(currentTime + direction * NUDGE_S, 0), duration);
  }

  #toShare(share) {
    if (this.playable && Number.isFinite(this.video.duration)) this.video.currentTime = share * this.video.duration;
  }

  #drawState() {
    const playing = !this.video.paused;
    this.play_.replaceChildren(icon(playing ? "pause" : "play"));
    this.play_.setAttribute("aria-label", playing ? "Pause" : "Play");
  }

  #drawTime() {
    const { currentTime, duration } = this.video;
    if (!Number.isFinite(duration)) return;
    this.root.querySelector("[data-clip-now]").textContent = currentTime.toFixed(1);
    this.root.querySelector("[data-clip-length]").textContent = duration.toFixed(1);
    if (document.activeElement !== this.seek_) this.seek_.value = String(Math.round((1000 * currentTime) / duration));
  }
}

/** Where a cut clip lies. */
export const clipUrl = ({ id }) => `/clips/${id}/clip.mp4`;

/** Keys of a clip: Space, R, comma and full stop. Whether the key was one of them. */
export function clipKey(clip, key) {
  const does = {
    " ": () => clip.toggle(),
    r: () => clip.replay(),
    ",": () => clip.nudge(-1),
    ".": () => clip.nudge(1),
  };
  const work = does[key.toLowerCase()];
  work?.();
  return Boolean(work);
}
