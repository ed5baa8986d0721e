// Splitters that drag, the inspector as a drawer on narrow screens, sizes remembered per person.

import { Topics, afterQuiet, clamp } from "./dom.js";

const LIMITS = { side: [240, 560], low: [160, 900] };
const NARROW = matchMedia("(max-width: 1100px)");

export class Panels extends Topics {
  /** `sizes`: {side, low} in CSS pixels; `save` keeps them. */
  constructor({ root, sizes, save }) {
    super();
    this.root = root;
    this.sizes = { ...sizes };
    this.save = afterQuiet(600, () => save(this.sizes));
    for (const splitter of root.querySelectorAll("[role=separator]")) this.#wire(splitter);
    document.querySelector("#inspector-toggle").addEventListener("click", () => this.toggleInspector());
    root.querySelector("#inspector-close").addEventListener("click", () => this.toggleInspector(false));
    NARROW.addEventListener("change", () => {
      this.#apply();
      this.emit("inspector", this.inspectorShown);
    });
    this.#apply();
  }

  #apply() {
    for (const name of Object.keys(LIMITS)) {
      if (this.sizes[name]) this.root.style.setProperty(`--${name}`, `${this.sizes[name]}px`);
      else this.root.style.removeProperty(`--${name}`);
    }
    document.querySelector("#inspector-toggle").setAttribute("aria-expanded", String(this.inspectorShown));
  }

  #wire(splitter) {
    const name = splitter.dataset.panel;
    const vertical = name === "side";
    const measure = () =>
      vertical ? this.root.querySelector("#inspector").offsetWidth : this.root.querySelector("#timeline").offsetHeight;
    const set = (size) => {
      const [low, high] = LIMITS[name];
      const room = vertical ? this.root.clientWidth * 0.6 : this.root.clientHeight * 0.78;
      this.sizes[name] = Math.round(clamp(size, low, Math.min(high, room)));
      splitter.setAttribute("aria-valuenow", this.sizes[name]);
      this.#apply();
      this.save();
    };
    splitter.addEventListener("pointerdown", (down) => {
      const from = measure();
      const start = vertical ? down.clientX : down.clientY;
      splitter.setPointerCapture(down.pointerId);
      const move = (event) => set(from + start - (vertical ? event.clientX : event.clientY));
      splitter.addEventListener("pointermove", move);
      const end = () => splitter.removeEventListener("pointermove", move);
      splitter.addEventListener("pointerup", end, { once: true });
      splitter.addEventListener("pointercancel", end, { once: true });
    });
    splitter.addEventListener("dblclick", () => {
      delete this.sizes[name];
      this.#apply();
      this.save();
    });
    splitter.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: 16, ArrowUp: 16, ArrowRight: -16, ArrowDown: -16 }[event.key];
      if (by) {
        set(measure() + by);
        event.preventDefault();
      }
    });
  }

  /** Show or hide the inspector; on narrow screens it lies over the page. */
  toggleInspector(on = !this.inspectorShown) {
    this.root.classList.toggle("inspector-open", on);
    this.root.classList.toggle("inspector-closed", !on);
    document.querySelector("#inspector-toggle").setAttribute("aria-expanded", String(on));
    this.emit("inspector", on);
  }

  get inspectorShown() {
    return NARROW.matches
      ? this.root.classList.contains("inspector-open")
      : !this.root.classList.contains("inspector-closed");
  }
}
