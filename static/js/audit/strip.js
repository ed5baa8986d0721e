/**
 * The strip under the picture: the clip on a ruler, the claimed span as a bracket with its control beside it, the frames
 * that were looked at, and on which of them each query found something. Drag scrubs, the wheel scrolls, Ctrl+wheel zooms.
 */

import { clamp, h } from "../workspace/dom.js";
import { RULER, drawRuler } from "../workspace/timeline/ruler.js";
import { ROLES, STATUS, laneName, plural, queryName, scopeWords } from "./words.js";

const BAND = 22; // the row of the claim's window
const ROW = 24;
const BAR = 10;

export class AuditStrip {
  #drag = false;

  constructor({ root, store, player, palette, window, cache }) {
    Object.assign(this, { root, store, player, palette, window, cache });
    this.canvas = root.querySelector("canvas");
    this.names = root.querySelector(".strip-names");
    this.twin = root.querySelector("#strip-words");
    this.stage = root.querySelector(".strip-stage");
    new ResizeObserver(() => this.resize()).observe(this.stage);
    for (const topic of ["focus", "view", "claim"]) store.on(topic, () => this.redraw());
    cache.on("loaded", () => this.redraw());
    player.on("frame", () => this.redraw());
    window.on("change", () => this.redraw());
    this.canvas.addEventListener("pointerdown", (event) => this.#down(event));
    this.canvas.addEventListener("pointermove", (event) => this.#drag && this.#scrub(event));
    for (const end of ["pointerup", "pointercancel"]) this.canvas.addEventListener(end, () => (this.#drag = false));
    this.canvas.addEventListener("wheel", (event) => this.#wheel(event), { passive: false });
    this.resize();
  }

  #down(event) {
    if (event.button !== 0) return;
    this.#drag = true;
    this.canvas.setPointerCapture(event.pointerId);
    this.#scrub(event);
  }

  #scrub(event) {
    this.player.seek(Math.floor(this.window.frame(event.offsetX)));
  }

  #wheel(event) {
    event.preventDefault();
    if (event.ctrlKey) this.window.zoom(Math.exp(-event.deltaY * 0.0022), event.offsetX);
    else this.window.scroll(event.deltaX + event.deltaY);
  }

  redraw() {
    this.asked ??= requestAnimationFrame(() => {
      this.asked = undefined;
      this.draw();
    });
  }

  resize() {
    const { clientWidth: width } = this.stage;
    if (!width) return;
    this.width = width;
    this.window.resize(width);
    this.redraw();
  }

  /** One row per query: {query, frames where it found something}. */
  #rows() {
    const { claim } = this.store;
    if (!claim) return [];
    const masks = this.cache.of(claim);
    return claim.queries.map((query) => ({ query, frames: masks ? masks.present(query.id) : query.frames }));
  }

  draw() {
    const rows = this.#rows();
    const height = RULER + BAND + Math.max(1, rows.length) * ROW + 4;
    const ratio = devicePixelRatio || 1;
    const { canvas, width, window, store, palette } = this;
    if (!width) return;
    if (canvas.width !== Math.round(width * ratio) || this.height !== height) {
      this.height = height;
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
      canvas.style.setProperty("width", `${width}px`);
      canvas.style.setProperty("height", `${height}px`);
    }
    const pen = canvas.getContext("2d");
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = palette.bg;
    pen.fillRect(0, 0, width, height);
    this.#drawOutside(pen, height);
    drawRuler(pen, { window, times: store.clock, store, palette, width, height: RULER });
    this.#drawWindow(pen);
    rows.forEach((row, k) => this.#drawRow(pen, row, RULER + BAND + k * ROW));
    this.#drawHead(pen, height);
    this.#name(rows);
  }

  /** What lies outside the clip is not part of what the model saw. */
  #drawOutside(pen, height) {
    const { window, store, palette } = this;
    pen.fillStyle = palette.bg_sunken;
    const [from, to] = [window.x(store.clip.start), window.x(store.clip.end)];
    pen.fillRect(0, RULER, from, height);
    pen.fillRect(to, RULER, this.width - to, height);
    pen.strokeStyle = palette.line_strong;
    for (const x of [from, to]) line(pen, Math.round(x) + 0.5, RULER, Math.round(x) + 0.5, height);
  }

  #drawWindow(pen) {
    const { store, palette, window } = this;
    const place = store.claim?.place;
    if (!place) return;
    const y = RULER + 4;
    const [from, to] = place.span.map((frame) => window.x(frame));
    pen.fillStyle = palette.accent_soft;
    pen.fillRect(from, y, Math.max(2, to - from), BAND - 7);
    pen.strokeStyle = palette.accent;
    pen.lineWidth = 1.5;
    bracket(pen, from, Math.max(from + 2, to), y, BAND - 7);
    pen.lineWidth = 1;
    for (const [i, frame] of place.frames.entries()) {
      pen.strokeStyle = place.inside[i] ? palette.accent : place.foreign[i] ? palette.warn : palette.line_strong;
      const x = Math.round(window.x(frame + 0.5)) + 0.5;
      line(pen, x, y + BAND - 11, x, y + BAND - 7);
    }
    pen.font = `10px ${palette.font}`;
    pen.textBaseline = "middle";
    if (to - from > 46) {
      pen.fillStyle = palette.accent;
      pen.textAlign = "left";
      pen.fillText(place.timed ? "claimed" : "the whole clip: the claim names no time", from + 5, y + 5);
    }
    this.#controls(place).forEach(([start, end, foreign]) => {
      const [a, b] = [window.x(start), window.x(end)];
      pen.strokeStyle = foreign ? palette.warn : palette.line_strong;
      pen.setLineDash([3, 2]);
      bracket(pen, a, Math.max(a + 2, b), y, BAND - 7);
      pen.setLineDash([]);
      if (b - a > 46) {
        pen.fillStyle = palette.text_dim;
        pen.fillText(foreign && b - a > 130 ? "control: another shot" : "control", a + 5, y + 5);
      }
    });
  }

  /** Runs of looked-at frames outside the span, as [first, last + 1, whether they lie in another shot]. */
  #controls(place) {
    const runs = [];
    let run = null;
    for (const [i, frame] of place.frames.entries()) {
      if (place.inside[i]) run = null;
      else if (run?.[2] === place.foreign[i]) run[1] = frame + 1;
      else runs.push((run = [frame, frame + 1, place.foreign[i]]));
    }
    return runs;
  }

  #drawRow(pen, { query, frames }, top) {
    const { store, palette, window } = this;
    const place = store.claim.place;
    const middle = top + ROW / 2;
    pen.strokeStyle = palette.line;
    line(pen, 0, Math.round(top) + 0.5, this.width, Math.round(top) + 0.5);
    if (!place) return;
    const found = new Set(frames);
    const masks = this.cache.of(store.claim);
    const negative = query.role === "negative";
    for (const [i, frame] of place.frames.entries()) {
      const next = place.frames[i + 1];
      const gap = next !== undefined && next - frame <= 2 * stride(place) ? next - frame : stride(place);
      const [a, b] = [window.x(frame), window.x(frame + gap)];
      const wide = Math.max(1.5, b - a - (b - a > 4 ? 1 : 0));
      if (found.has(frame)) {
        pen.globalAlpha = place.inside[i] ? 1 : 0.5;
        pen.fillStyle = negative ? palette.danger : query.role === "category" ? palette.line_strong : palette.accent;
        pen.fillRect(a, middle - BAR / 2, wide, BAR);
        pen.globalAlpha = 1;
      } else {
        pen.fillStyle = palette.line;
        pen.fillRect(a, middle - 0.5, wide, 1);
      }
    }
    for (const edit of masks?.edits.values() ?? [])
      if (edit.query === query.id) this.#diamond(pen, window.x(edit.frame + 0.5), middle);
    if (store.shown.query === query.id) {
      pen.strokeStyle = palette.accent;
      pen.strokeRect(0.5, top + 1.5, this.width - 1, ROW - 2);
    }
  }

  #diamond(pen, x, y) {
    pen.beginPath();
    pen.moveTo(x, y - 5);
    pen.lineTo(x + 5, y);
    pen.lineTo(x, y + 5);
    pen.lineTo(x - 5, y);
    pen.closePath();
    pen.fillStyle = this.palette.warn;
    pen.strokeStyle = this.palette.bg_raised;
    pen.fill();
    pen.stroke();
  }

  #drawHead(pen, height) {
    const x = Math.round(this.window.x(this.player.frame + 0.5)) + 0.5;
    pen.strokeStyle = this.palette.danger;
    pen.lineWidth = 1.5;
    line(pen, x, 0, x, height);
    pen.lineWidth = 1;
    pen.fillStyle = this.palette.danger;
    pen.beginPath();
    pen.moveTo(x - 5, 0);
    pen.lineTo(x + 5, 0);
    pen.lineTo(x, 7);
    pen.fill();
  }

  /** The rows' names beside the canvas, and the same in words for who does not see it. */
  #name(rows) {
    const told = JSON.stringify([
      this.store.claim?.id,
      rows.map(({ query, frames }) => [query.id, query.text, query.status, query.unchecked, frames.length]),
      this.store.shown.query,
    ]);
    if (told === this.told) return;
    this.told = told;
    const place = this.store.claim?.place;
    this.names.replaceChildren(
      h("span", { class: "strip-name", text: "Time in the clip" }),
      h("span", { class: "strip-name", text: place ? (place.timed ? "Window" : "Whole clip") : "No window" }),
      ...rows.map(({ query }) =>
        h("button", {
          type: "button",
          class: "strip-name strip-query",
          "aria-pressed": String(this.store.shown.query === query.id),
          title: `${[`${ROLES[query.role]}: ${queryName(query)}`, scopeWords(query)].filter(Boolean).join("; ")}. Click to show its masks only`,
          text: laneName(query),
          data: { role: query.role },
          onclick: () => this.store.show({ query: this.store.shown.query === query.id ? null : query.id, masks: true }),
        }),
      ),
    );
    this.twin.replaceChildren(
      ...rows.map(({ query, frames }) =>
        h("li", { text: `${ROLES[query.role]} “${queryName(query)}”: ${foundWords(query, frames, place)}` }),
      ),
    );
  }
}

/** On how many of the frames looked at a query found something, and what was looked for where that is not all it says. */
export function foundWords(query, frames, place) {
  const counts = presence(query, frames, place);
  if (!counts) return query.sentence || STATUS[query.status];
  const scope = scopeWords(query);
  const before = scope && `${scope}; found `;
  if (!place) return `${before}on ${plural(frames.length, "frame")}`;
  const [inside, outside] = counts;
  const beside = outside[1] ? `, ${outside[0]} of ${outside[1]} outside` : "";
  const where = place.timed ? "in the span" : "in the whole clip (the claim names no time)";
  const shots = outside[1] && foreignWords(place);
  return `${before}on ${inside[0]} of ${inside[1]} frames ${where}${beside}${shots ? ` (${shots})` : ""}`;
}

/** How many of the control's frames lie in another shot than the claimed span; "" where none does. */
export function foreignWords({ foreign, inside }) {
  const count = foreign.filter(Boolean).length;
  const all = inside.filter((one) => !one).length;
  return count ? `${count} of the ${plural(all, "frame")} outside ${count > 1 ? "lie" : "lies"} in another shot` : "";
}

/** [[found, looked at] in the span, the same outside]; null where the query was not looked for. */
export function presence(query, frames, place) {
  if (query.status !== "ok" && query.status !== "empty") return null;
  if (!place)
    return [
      [frames.length, frames.length],
      [0, 0],
    ];
  const found = new Set(frames);
  const count = (inside) => {
    const looked = place.frames.filter((_, i) => place.inside[i] === inside);
    return [looked.filter((frame) => found.has(frame)).length, looked.length];
  };
  return [count(true), count(false)];
}

/** Usual distance of frames that were looked at. */
function stride(place) {
  const gaps = place.frames
    .slice(1)
    .map((frame, i) => frame - place.frames[i])
    .sort((a, b) => a - b);
  return clamp(gaps[gaps.length >> 1] ?? 1, 1, 1000);
}

function line(pen, x0, y0, x1, y1) {
  pen.beginPath();
  pen.moveTo(x0, y0);
  pen.lineTo(x1, y1);
  pen.stroke();
}

function bracket(pen, from, to, y, height) {
  pen.beginPath();
  pen.moveTo(from + 4, y);
  pen.lineTo(from, y);
  pen.lineTo(from, y + height);
  pen.lineTo(from + 4, y + height);
  pen.moveTo(to - 4, y);
  pen.lineTo(to, y);
  pen.lineTo(to, y + height);
  pen.lineTo(to - 4, y + height);
  pen.stroke();
}
