// Colours from the style sheet for everything drawn on a canvas; read again when the theme changes.

const NAMES = [
  "bg",
  "bg-raised",
  "bg-sunken",
  "line",
  "line-strong",
  "text",
  "text-dim",
  "accent",
  "accent-soft",
  "danger",
  "warn",
  "ok",
  "focus",
];
const OWN = ["lane", "shot", "scene", "camera", "object", "unusable", "grid"];

export class Palette {
  #patterns = new Map();

  /** `root`: the element that sets the colours of its canvases (`--ws-...`). */
  constructor(onchange, root = document.querySelector("#workspace")) {
    this.onchange = onchange;
    this.root = root;
    this.read();
    const again = () => {
      this.read();
      this.onchange?.();
    };
    new MutationObserver(again).observe(document.documentElement, {
      attributes: true,
      attributeFilter: ["data-theme"],
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  }

  read() {
    const style = getComputedStyle(document.documentElement);
    const workspace = getComputedStyle(this.root);
    for (const name of NAMES) this[name.replace("-", "_")] = style.getPropertyValue(`--${name}`).trim();
    for (const name of OWN) this[name] = workspace.getPropertyValue(`--ws-${name}`).trim();
    this.people = Array.from({ length: 20 }, (_, i) => style.getPropertyValue(`--p${i}`).trim());
    this.font = style.getPropertyValue("--font").trim();
    this.mono = style.getPropertyValue("--mono").trim();
    this.dark = style.colorScheme === "dark";
    this.#patterns.clear();
  }

  ofPerson(person) {
    return person ? person.colour || this.people[person.number % 20] : this.text_dim;
  }

  /** Diagonal lines of a colour on transparent, made once; `step` in device pixels. */
  hatch(context, colour, step = 6, width = 1.2) {
    const key = `${colour} ${step} ${width}`;
    if (!this.#patterns.has(key)) {
      const tile = new OffscreenCanvas(step, step);
      const pen = tile.getContext("2d");
      pen.strokeStyle = colour;
      pen.lineWidth = width;
      pen.beginPath();
      for (const offset of [-step, 0, step]) {
        pen.moveTo(offset, step);
        pen.lineTo(offset + step, 0);
      }
      pen.stroke();
      this.#patterns.set(key, context.createPattern(tile, "repeat"));
    }
    return this.#patterns.get(key);
  }
}

/** White words with a dark rim: readable on every person's colour. The pen has its font. */
export function rimmed(pen, words, x, y) {
  pen.strokeStyle = "rgb(0 0 0 / 55%)";
  pen.lineWidth = 2.5;
  pen.lineJoin = "round";
  pen.strokeText(words, x, y);
  pen.lineWidth = 1;
  pen.fillStyle = "#fff";
  pen.fillText(words, x, y);
}
