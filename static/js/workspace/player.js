// The player. Two promises: the frame named is the frame shown, and a step moves exactly one.
//
// A seek goes to the middle of a frame's own interval; the video-frame callback then says which frame is on the screen
// (its media time against the table of timestamps). One seek is on its way at a time; the newest wish follows it. On
// pause the last shown frame is sought again, so that a frame that was still under way cannot slip in; should another
// frame be reported while the player stands, the named one is sought once more. A hidden tab shows nothing and reports
// nothing: what was wished meanwhile is sought when somebody can see it.
//
// The element carries data-frame (named), data-shown (last reported) and data-state (ready, seeking, playing, paused).

import { Topics, clamp } from "./dom.js";

const SILENCE_MS = 150; // after "seeked", how long to wait for a callback before asking what is shown
const STUCK_MS = 5000; // how long a seek may take before it is asked for again
const SHARES = [0.35, 0.65, 0.8]; // other points of the frame's interval to ask for
const SPEEDS = [1, 2, 4, 8];
const FASTEST = 16; // browsers refuse to play faster

export class Player extends Topics {
  #pending = null; // the frame a seek is under way to
  #tries = 0;
  #timer = 0;
  #jumping = false; // a seek during playback has not arrived yet
  #reverse = 0; // frame request of the reverse shuttle
  #shuttle = 0; // -8..8; 0: not shuttling
  #virtual = null; // playback clock when there is no picture

  /** `video`: null for a video without pixels, which plays on a clock of its own. */
  constructor(root, video, times) {
    super();
    Object.assign(this, { root, video, times, frame: 0, shown: -1, loop: null, speed: 1 });
    if (!video) return;
    video.addEventListener("seeked", () => this.#seeked());
    video.addEventListener("ended", () => this.#end());
    video.addEventListener("error", () => this.emit("error", video.error?.message || "The video cannot be played."));
    video.addEventListener("pause", () => {
      // The browser paused it; our own pause may be told only after the next play
      if (this.playing && video.paused && !video.ended && !this.#reverse) this.pause();
    });
    document.addEventListener("visibilitychange", () => this.#seen());
    this.#listen();
  }

  get playing() {
    return this.root.dataset.state === "playing";
  }

  /** How fast it plays: negative backwards, 0 when it stands. */
  get rate() {
    return this.playing ? Math.sign(this.#shuttle || 1) * this.#pace() : 0;
  }

  #pace() {
    return Math.min(FASTEST, this.speed * Math.abs(this.#shuttle || 1));
  }

  /** Show the first picture. */
  async start(frame) {
    this.#name(clamp(frame, 0, this.times.frames - 1));
    this.root.dataset.state = "seeking";
    if (!this.video) return this.#request();
    if (this.video.readyState < 1)
      await new Promise((resolve) => this.video.addEventListener("loadedmetadata", resolve, { once: true }));
    this.#request();
  }

  // ---- Going somewhere ----

  seek(frame) {
    const target = clamp(Math.round(frame), 0, this.times.frames - 1);
    if (this.#reverse) this.#stopReverse();
    this.#name(target);
    if (this.playing) this.#jump(target);
    else this.#request();
  }

  step(count) {
    if (this.playing) this.pause();
    this.seek(this.frame + count);
  }

  #name(frame) {
    if (frame === this.frame && this.root.dataset.frame === String(frame)) return;
    this.frame = frame;
    this.root.dataset.frame = frame;
    this.emit("frame", frame);
  }

  #report(frame) {
    this.shown = frame;
    this.root.dataset.shown = frame;
    this.emit("shown", frame);
  }

  #request() {
    if (this.#pending !== null) return;
    this.#pending = this.frame;
    this.#tries = 0;
    this.#setState("seeking");
    this.#ask(0.5);
  }

  #ask(share) {
    if (!this.video) {
      requestAnimationFrame(() => this.#arrived(this.#pending));
      return;
    }
    const media = this.times.inside(this.#pending, share);
    // Setting the time it already has brings no callback
    if (Math.abs(this.video.currentTime - media) < 1e-7) {
      if (this.shown === this.#pending) this.#arrived(this.shown);
      else this.#ask(share + 0.1);
      return;
    }
    this.video.currentTime = media;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#silence(), STUCK_MS);
  }

  #seeked() {
    this.#jumping = false;
    if (this.#pending === null) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#silence(), SILENCE_MS);
  }

  /** The seek is over but no callback named the wished frame. */
  #silence() {
    if (this.#pending === null || document.hidden) return;
    if (this.frame !== this.#pending) this.#follow();
    else if (this.video.seeking || this.shown < 0)
      this.#ask(SHARES[this.#tries++ % SHARES.length]); // stuck, or a slow network: ask anew
    else if (this.shown === this.#pending) this.#arrived(this.shown);
    else if (this.#tries++ < SHARES.length) this.#ask(SHARES[this.#tries - 1]);
    else {
      // Name what is shown rather than what was wished
      this.#pending = null;
      this.#name(this.shown);
      this.#setState("paused");
      this.emit("settled", this.shown);
    }
  }

  /** Give the seek under way up for the newest wish. */
  #follow() {
    this.#pending = null;
    this.#request();
  }

  /** The tab can be seen again. */
  #seen() {
    if (!document.hidden && this.#pending !== null && (!this.playing || this.#reverse)) this.#follow();
  }

  #arrived(frame) {
    clearTimeout(this.#timer);
    if (!this.video) this.#report(frame);
    this.#pending = null;
    if (this.playing) return;
    if (this.frame !== frame) this.#request();
    else {
      this.#setState(this.#wasReady ? "paused" : "ready");
      this.#wasReady = true;
      this.emit("settled", frame);
    }
  }
  #wasReady = false;

  #setState(state) {
    if (this.#reverse && state !== "playing") return; // stepping backwards is playing
    if (this.root.dataset.state === state) return;
    this.root.dataset.state = state;
    this.emit("state", state);
  }

  // ---- What the browser shows ----

  #listen() {
    this.video.requestVideoFrameCallback((now, { mediaTime }) => {
      this.#listen();
      const frame = this.times.near(mediaTime);
      this.#report(frame);
      if (this.#pending !== null) {
        if (frame === this.#pending) this.#arrived(frame);
      } else if (!this.playing) {
        if (frame !== this.frame) this.#request(); // it slipped in after the pause
      } else if (!this.#reverse && !this.#jumping) {
        this.#name(frame);
        this.#loopBack(frame);
      }
    });
  }

  #loopBack(frame) {
    if (!this.loop) return;
    const [start, end] = this.loop;
    if (frame >= end - 1 || frame < start) this.#jump(start);
  }

  #jump(frame) {
    if (!this.video) {
      this.#virtual = { since: performance.now(), from: this.times.zeroed(frame) };
      return;
    }
    this.#jumping = true;
    this.video.currentTime = this.times.inside(frame);
  }

  // ---- Playing ----

  async play() {
    if (this.#reverse) this.#stopReverse();
    this.#jumping = this.#pending !== null && Boolean(this.video?.seeking);
    this.#pending = null;
    clearTimeout(this.#timer);
    const [first, end] = this.loop ?? [0, this.times.frames];
    if (this.frame >= this.times.frames - 1 || (this.loop && (this.frame < first || this.frame >= end - 1))) {
      this.#name(first);
      this.#jump(first);
    }
    this.#setState("playing");
    if (!this.video) return this.#playVirtually();
    this.video.playbackRate = this.#pace();
    try {
      await this.video.play();
    } catch (error) {
      if (error.name === "AbortError") return; // paused before it began
      this.#setState("paused");
      this.emit("error", `The video does not play: ${error.message}`);
    }
  }

  /** The browser came to the end of the video; a loop that ends there goes on from its start. */
  #end() {
    if (!this.playing) return;
    if (this.loop) {
      this.#jump(this.loop[0]);
      this.video.play().catch(() => this.pause());
      return;
    }
    this.pause(this.times.frames - 1); // the callback of the last frame may still be under way
  }

  /** Stand on the frame that is shown, or on `frame`. */
  pause(frame = this.#frameNow()) {
    if (!this.playing) return;
    this.#shuttle = 0;
    if (this.#reverse) this.#stopReverse();
    this.#virtual = null;
    this.video?.pause();
    this.root.dataset.state = "paused";
    this.#name(frame);
    this.#jumping = false;
    this.#pending = null;
    this.#request(); // to the middle of the frame named, so that no later one slips in
  }

  #frameNow() {
    if (!this.video || this.shown < 0 || this.#jumping || this.#reverse) return this.frame;
    return document.hidden ? this.times.at(this.video.currentTime) : this.shown;
  }

  toggle() {
    if (this.playing) this.pause();
    else this.play();
  }

  /** J and L: each press in one direction doubles the speed; the other direction starts again at one. */
  shuttle(direction) {
    const speed = Math.abs(this.#shuttle);
    const faster =
      Math.sign(this.#shuttle) === direction && this.playing
        ? SPEEDS[Math.min(SPEEDS.indexOf(speed) + 1, SPEEDS.length - 1)]
        : 1;
    if (this.playing && Math.sign(this.#shuttle || 1) !== direction) this.pause();
    this.#shuttle = direction * faster;
    if (direction > 0) this.play();
    else this.#playBackwards();
    this.emit("state", this.root.dataset.state);
  }

  setSpeed(speed) {
    this.speed = speed;
    if (this.#reverse) this.#playBackwards();
    else if (this.video) this.video.playbackRate = this.#pace();
  }

  /** Backwards: one seek after another, as fast as they come, to where the clock says. */
  #playBackwards() {
    this.video?.pause();
    if (this.#reverse) cancelAnimationFrame(this.#reverse);
    this.root.dataset.state = "playing";
    const from = this.times.zeroed(this.frame);
    const since = performance.now();
    const speed = this.#pace();
    const tick = () => {
      const left = from - (speed * (performance.now() - since)) / 1000;
      this.#reverse = requestAnimationFrame(tick);
      if (this.#pending === null) {
        const target = left > 0 ? this.times.frameAt(left) : 0;
        if (target !== this.frame) {
          this.#name(target);
          this.#request();
        } else if (target === 0) this.pause();
      }
    };
    this.#reverse = requestAnimationFrame(tick);
    this.emit("state", "playing");
  }

  #stopReverse() {
    cancelAnimationFrame(this.#reverse);
    this.#reverse = 0;
    this.#shuttle = 0;
    this.#setState(this.#pending === null ? "paused" : "seeking");
  }

  #playVirtually() {
    const clock = { since: performance.now(), from: this.times.zeroed(this.frame) };
    this.#virtual = clock;
    const tick = () => {
      if (this.#virtual === null) return;
      const speed = this.#pace();
      const now = this.#virtual.from + (speed * (performance.now() - this.#virtual.since)) / 1000;
      const frame = this.times.frameAt(now);
      this.#name(frame);
      this.#report(frame);
      this.#loopBack(frame);
      if (frame >= this.times.frames - 1 && !this.loop) this.pause();
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }
}
