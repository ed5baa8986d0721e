// The bar under the picture: where we are, the player's buttons, speed, sound, what is drawn over the picture.

import { icon } from "./dom.js";
import { parseFrame } from "./times.js";

export class Transport {
  constructor({ root, player, store, actions, overlay, video }) {
    Object.assign(this, { root, player, store, actions, overlay, video });
    this.clock = root.querySelector("#clock");
    this.frame = root.querySelector("#frame-field");
    this.playButton = root.querySelector("#play");
    this.#wire("#play", () => player.toggle());
    this.#wire("#step-back", () => player.step(-1));
    this.#wire("#step-forward", () => player.step(1));
    this.#wire("#previous-event", () => actions.neighbour(-1));
    this.#wire("#next-event", () => actions.neighbour(1));
    this.#wire("#loop", () => actions.setLooping(!actions.looping));
    this.#wire("#sound", () => this.#mute(!video.muted));
    root.querySelector("#speed").addEventListener("change", (event) => player.setSpeed(Number(event.target.value)));
    this.frame.addEventListener("change", () => this.#typed());
    this.frame.addEventListener("focus", () => this.frame.select());
    for (const box of root.querySelectorAll("[data-shows]"))
      box.addEventListener("click", () => overlay.toggle(box.dataset.shows));
    actions.on("loop", (on) => root.querySelector("#loop").setAttribute("aria-pressed", String(on)));
    player.on("frame", () => this.#where());
    player.on("state", () => this.#state());
    const sound = root.querySelector("#sound");
    sound.hidden = !store.video.has_audio || !video;
    if (video) this.#mute(localStorage.getItem("sightline.muted") !== "0");
    this.#where();
  }

  #wire(selector, work) {
    this.root.querySelector(selector).addEventListener("click", work);
  }

  #where() {
    const { times } = this.store;
    this.clock.textContent = times.clock(this.player.frame);
    if (document.activeElement !== this.frame) this.frame.value = String(this.player.frame);
  }

  #state() {
    const { playing } = this.player;
    const name = playing ? "pause" : "play";
    if (this.playButton.dataset.icon !== name) {
      this.playButton.dataset.icon = name;
      this.playButton.replaceChildren(icon(name));
      this.playButton.setAttribute("aria-label", playing ? "Pause" : "Play");
    }
    const speed = this.root.querySelector("#shuttle");
    const { rate } = this.player;
    speed.textContent = playing && rate !== 1 ? `${rate < 0 ? "−" : ""}${Math.abs(rate)}×` : "";
  }

  #typed() {
    const frame = parseFrame(this.frame.value, this.store.times);
    this.frame.blur();
    if (frame === null) this.actions.say("Write a frame number, or a time such as 1:02.5.", "error");
    else this.player.seek(frame);
    this.#where();
  }

  #mute(muted) {
    const button = this.root.querySelector("#sound");
    this.video.muted = muted;
    localStorage.setItem("sightline.muted", muted ? "1" : "0");
    button.replaceChildren(icon(muted ? "mute" : "sound", true));
    button.setAttribute("aria-label", muted ? "Sound on" : "Sound off");
    button.title = muted ? "Sound on" : "Sound off";
  }
}
