// Small helpers for the page: elements, icons, ids and topics.

let sprite = "";

/** Where the icon sprite lies; set once at boot. */
export function useSprite(url) {
  sprite = url;
}

/** An element. `props`: attributes; on* functions become listeners; `class`, `text`, `data` and `style` (object) are understood. */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (name === "data") Object.assign(element.dataset, value);
    else if (name === "style") for (const [key, v] of Object.entries(value)) element.style.setProperty(key, v);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function icon(name, small = false) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", small ? "icon icon-small" : "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS(SVG, "use");
  use.setAttribute("href", `${sprite}#${name}`);
  svg.append(use);
  return svg;
}

const SEEN_MS = 300; // what came under the pointer later than this before a press was not what the press was meant for

/** What an element's buttons act on: the nearest `data-about` around it. */
const aboutOf = (element) => element.closest("[data-about]")?.dataset.about ?? "";

let press = { about: "", at: 0 };
let counted = ""; // what the last click that counted was about
let before = -Infinity; // when the press before was
addEventListener("pointerdown", ({ target, timeStamp }) => (press = { about: aboutOf(target), at: timeStamp }), true);
addEventListener("keydown", () => (before = -Infinity), true); // a key between two clicks: they are not one

/**
 * A click's listener that takes a double click for one word. Of clicks in quick succession on one spot a further one
 * counts only when another thing lies there by now, and lay there long enough before the press to be seen.
 */
export const once = (work) => (click) => {
  const { about, at } = press;
  const again = click.detail > 1 && before > -Infinity && (about === counted || at - before < SEEN_MS);
  before = at;
  if (again) return;
  counted = about;
  work();
};

let pressed = null; // where a button of the pointer is down
addEventListener("pointerdown", ({ target }) => (pressed = target), true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => (pressed = null), true);
addEventListener("pointermove", ({ buttons }) => buttons || (pressed = null), true); // let go outside the window

/** Whether a press that began in `root` has not ended: elements replaced under it would swallow its click. */
export const isPressed = (root) => pressed !== null && root.contains(pressed);

/** A quiet icon button with a name that is both its tooltip and its accessible name. */
export function iconButton(name, label, work, props = {}) {
  return h(
    "button",
    {
      type: "button",
      class: "button button-quiet button-icon button-small",
      title: label,
      "aria-label": label,
      onclick: once(work),
      ...props,
    },
    icon(name, true),
  );
}

/** A random UUID, also where the page is not a secure context. */
export function uuid() {
  if (crypto.randomUUID) return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

/** Topics with listeners. */
export class Topics {
  #listeners = new Map();

  on(topic, listener) {
    if (!this.#listeners.has(topic)) this.#listeners.set(topic, new Set());
    this.#listeners.get(topic).add(listener);
    return () => this.#listeners.get(topic).delete(listener);
  }

  emit(topic, detail) {
    for (const listener of this.#listeners.get(topic) ?? []) listener(detail);
  }
}

/**
 * Run `work` at the next animation frame, however often it is asked for until then. Where it replaces the elements of
 * `root`: not before a press in there has ended.
 */
export function onceAFrame(work, root = null) {
  let asked = 0;
  const run = () => {
    asked = root && isPressed(root) ? requestAnimationFrame(run) : 0;
    if (!asked) work();
  };
  return () => (asked ||= requestAnimationFrame(run));
}

/** Run `work` after `ms` of quiet. */
export function afterQuiet(ms, work) {
  let timer = 0;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...args), ms);
  };
}

/** First index in `array` (ascending by `key`) whose key is > value. */
export function upperBound(array, value, key = (item) => item, length = array.length) {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (key(array[middle]) > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Whether keystrokes belong to this element rather than to the page. */
export function isTyping(element) {
  if (!element) return false;
  if (element.isContentEditable || element.tagName === "TEXTAREA") return true;
  return element.tagName === "INPUT" && !["checkbox", "radio", "button", "range", "color"].includes(element.type);
}

/** A moment as it is written everywhere here, by this computer's clock: 2026-11-30 09:05. */
export function moment(iso) {
  const at = new Date(iso);
  const two = (number) => String(number).padStart(2, "0");
  const day = [at.getFullYear(), two(at.getMonth() + 1), two(at.getDate())].join("-");
  return `${day} ${two(at.getHours())}:${two(at.getMinutes())}`;
}
