/**
 * Curves of runs: one figure for each metric, drawn by uPlot. All of them share one cursor and one zoom; each has a title
 * that says what the curve does, its unit, a table of the same numbers and a CSV file.
 */

import { h } from "../workspace/dom.js";
import { finding, number } from "./metrics.js";

const HEIGHT = 168;
const KEY = "runs"; // of what uPlot keeps in step
const MOST_ROWS = 2000;

const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** A token's colour (#rrggbb) at 18 %. */
const faint = (token) => `${style(token)}2e`;

/** Colours of compared runs, in the order they were named. */
const COLOURS = ["--p0", "--p1", "--p2", "--p3", "--p4", "--p5", "--p6", "--p7"];

export const colourOf = (place) => COLOURS[place % COLOURS.length];

/**
 * One figure. `sources`: [{label, colour, metrics}], one run or several over each other; a band is drawn for one only.
 */
export class Chart {
  constructor({ spec, sources, csv }) {
    Object.assign(this, { spec, sources, csv });
    this.write = spec.write ?? number;
    this.zoomed = false;
    this.title = h("h3", { class: "chart-title" });
    this.reading = h("span", { class: "chart-reading mono", "aria-live": "off" });
    this.box = h("div", { class: "chart-box" });
    this.table = h("div", { class: "chart-table", hidden: true, tabindex: 0 });
    this.switch = h(
      "button",
      { type: "button", class: "button button-quiet button-small", "aria-pressed": "false", onclick: () => this.#toggle() },
      "Table",
    );
    this.element = h(
      "figure",
      { class: "chart panel", tabindex: 0, data: { metric: spec.name } },
      h(
        "figcaption",
        { class: "chart-head" },
        h(
          "div",
          { class: "chart-line" },
          this.title,
          h(
            "span",
            { class: "chart-tools" },
            this.switch,
            csv && h("a", { class: "button button-quiet button-small", href: csv(spec), download: "" }, "CSV"),
          ),
        ),
        h(
          "div",
          { class: "chart-line" },
          h(
            "span",
            { class: "chart-unit dim", title: spec.unit },
            `${spec.unit || "no unit"}${this.#banded() ? ", band: spread" : ""}`,
          ),
          this.reading,
        ),
      ),
      this.box,
      this.table,
    );
    this.element.addEventListener("keydown", (event) => this.#onKey(event));
  }

  /** Steps that any source has, and every line's values at them. */
  #data() {
    const { spec, sources } = this;
    if (sources.length === 1) {
      const [{ metrics }] = sources;
      const line = metrics.column(spec.name);
      if (!this.#banded()) return [metrics.steps, line];
      const spread = metrics.column(spec.spread);
      const around = (sign) =>
        line.map((value, at) => (value === null || spread[at] === null ? null : value + sign * spread[at]));
      return [metrics.steps, line, around(1), around(-1)];
    }
    const steps = [...new Set(sources.flatMap(({ metrics }) => metrics.steps))].sort((a, b) => a - b);
    const place = new Map(steps.map((step, at) => [step, at]));
    const lines = sources.map(({ metrics }) => {
      const line = new Array(steps.length).fill(undefined); // no row there: the line goes on
      metrics.steps.forEach((step, at) => (line[place.get(step)] = metrics.column(spec.name)[at] ?? undefined));
      return line;
    });
    return [steps, ...lines];
  }

  #banded() {
    return Boolean(this.spec.spread) && this.sources.length === 1 && this.sources[0].metrics.columns.has(this.spec.spread);
  }

  #series() {
    const { sources } = this;
    const several = sources.length > 1;
    const lines = sources.map(({ label, colour }) => ({
      label,
      stroke: style(colour ?? "--accent"),
      width: 1.5,
      spanGaps: several,
      points: { show: (plot, at) => plot.data[at].filter((value) => value != null).length < 40, size: 4 },
    }));
    const edge = { stroke: "transparent", width: 0, points: { show: false } };
    return [{ label: "Step" }, ...lines, ...(this.#banded() ? [edge, edge] : [])];
  }

  #options() {
    const grid = { stroke: style("--line"), width: 1 };
    const axis = { stroke: style("--text-dim"), grid, ticks: { ...grid, size: 4 }, font: `11px ${style("--font")}` };
    const { spec } = this;
    return {
      width: Math.max(200, this.box.clientWidth),
      height: HEIGHT,
      padding: [8, 10, 0, 0],
      legend: { show: false },
      cursor: {
        sync: { key: KEY, scales: ["x", null] },
        drag: { x: true, y: false },
        points: { size: 7 },
        y: false,
      },
      scales: { x: { time: false }, y: { range: (plot, low, high) => this.#range(low, high) } },
      axes: [
        { ...axis, space: 60, size: 30, incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000] },
        { ...axis, size: 58, space: 32, values: (plot, ticks) => ticks.map((tick) => this.write(tick)) },
      ],
      series: this.#series(),
      bands: this.#banded() ? [{ series: [2, 3], fill: faint(this.sources[0].colour ?? "--accent") }] : [],
      hooks: {
        setCursor: [() => this.#read()],
        setScale: [(plot, key) => key === "x" && this.#onZoom()],
        drawSeries: [(plot, at) => at === 1 && this.#drawAlarms(plot)],
      },
    };
  }

  #range(low, high) {
    const { alarm, below, least: bottom, most: top = Infinity } = this.spec;
    if (low === null || high === null) return [0, 1];
    const ends = [low, high, ...(alarm === undefined ? [] : [alarm]), ...(below === undefined ? [] : [below])];
    const [least, most] = [Math.min(...ends), Math.max(...ends)];
    if (bottom !== undefined) return [bottom, Math.min(top, Math.max(0.1, most * 1.15))];
    const room = (most - least || Math.abs(most) || 1) * 0.08;
    return [least >= 0 && least - room < 0 ? 0 : least - room, most + room];
  }

  /** The lines that are not to be crossed. */
  #drawAlarms(plot) {
    const { alarm, below } = this.spec;
    const pen = plot.ctx;
    for (const level of [alarm, below]) {
      if (level === undefined) continue;
      const y = Math.round(plot.valToPos(level, "y", true)) + 0.5;
      pen.save();
      pen.strokeStyle = style("--danger");
      pen.lineWidth = devicePixelRatio;
      pen.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
      pen.beginPath();
      pen.moveTo(plot.bbox.left, y);
      pen.lineTo(plot.bbox.left + plot.bbox.width, y);
      pen.stroke();
      pen.restore();
    }
  }

  /** Draw for the first time, or with what came since. */
  draw() {
    const data = this.#data();
    const [{ metrics }] = this.sources;
    const line = this.sources.length === 1 ? metrics.column(this.spec.name) : [];
    this.title.textContent = this.sources.length === 1 ? finding(this.spec, line, this.write) : this.spec.title;
    this.title.title = this.title.textContent;
    this.element.dataset.points = String(data[0].length);
    if (this.plot && this.plot.series.length === data.length) this.plot.setData(data, !this.zoomed);
    else this.#build(data);
    if (this.zoomed) this.plot.redraw();
    this.#read();
    if (!this.table.hidden) this.#fill();
  }

  #build(data) {
    this.plot?.destroy();
    this.zoomed = false;
    this.plot = new window.uPlot(this.#options(), data, this.box);
    this.plot.over.addEventListener("dblclick", () => (this.zoomed = false));
    this.box.querySelector("canvas").setAttribute("aria-hidden", "true");
  }

  /** Colours are in the canvas, so another theme means another one. */
  restyle() {
    if (this.plot) this.#build(this.#data());
  }

  resize() {
    const width = this.box.clientWidth;
    if (this.plot && width && width !== this.plot.width) this.plot.setSize({ width, height: HEIGHT });
  }

  #onZoom() {
    if (!this.plot) return;
    const { min, max } = this.plot.scales.x;
    const steps = this.plot.data[0];
    this.zoomed = steps.length > 1 && (min > steps[0] || max < steps.at(-1));
  }

  /** The value under the cursor, or the newest one. */
  #read() {
    const data = this.plot?.data ?? this.#data();
    const at = this.plot?.cursor.idx ?? data[0].length - 1;
    if (at < 0 || data[0][at] === undefined) return void (this.reading.textContent = "");
    const values = this.sources.map((source, n) => {
      const value = this.write(data[n + 1]?.[at]);
      return this.sources.length > 1 ? `${source.label} ${value}` : value;
    });
    const band = this.#banded() ? ` ± ${this.write(this.sources[0].metrics.column(this.spec.spread)[at])}` : "";
    this.reading.textContent = `step ${data[0][at]} · ${values.join(" · ")}${band}`;
  }

  /** Arrows move the cursor of every chart; Escape lets it go. */
  #onKey(event) {
    if (event.target !== this.element || !this.plot) return;
    const steps = this.plot.data[0];
    const at = this.plot.cursor.idx;
    const to = {
      ArrowLeft: (at ?? steps.length) - 1,
      ArrowRight: (at ?? -1) + 1,
      Home: 0,
      End: steps.length - 1,
      Escape: null,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    if (to === null) return void this.#moveCursor(-10);
    const step = steps[Math.max(0, Math.min(steps.length - 1, to))];
    if (step !== undefined) this.#moveCursor(this.plot.valToPos(step, "x"));
  }

  /** To `left` px of the plot, in every chart: the last argument has the others told. */
  #moveCursor(left) {
    this.plot.setCursor({ left, top: left < 0 ? left : HEIGHT / 3 }, true, true);
  }

  #toggle() {
    const open = this.table.hidden;
    this.table.hidden = !open;
    this.box.hidden = open;
    this.switch.setAttribute("aria-pressed", String(open));
    if (open) this.#fill();
    else this.resize();
  }

  /** The same numbers as a table, newest first. */
  #fill() {
    const data = this.#data();
    const heads = ["Step", ...this.sources.map(({ label }) => label)];
    if (this.#banded()) heads.push("Spread");
    const rows = [];
    for (let at = data[0].length - 1; at >= 0 && rows.length < MOST_ROWS; at -= 1) {
      const cells = this.sources.map((source, n) => this.write(data[n + 1][at]));
      if (this.#banded()) cells.push(this.write(this.sources[0].metrics.column(this.spec.spread)[at]));
      rows.push(
        h("tr", {}, h("th", { scope: "row", class: "number", text: String(data[0][at]) }), cells.map((text) => h("td", { class: "number", text }))),
      );
    }
    this.table.replaceChildren(
      h(
        "table",
        { class: "tally" },
        h("caption", { class: "sr-only", text: `${this.spec.title} by step` }),
        h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col", class: "number", text })))),
        h("tbody", {}, rows),
      ),
    );
  }
}

/** The charts of a page: made when their metrics first come, kept in step with width, theme and numbers. */
export class Charts {
  /** `make(spec)` gives what a Chart is made from. */
  constructor({ root, specs, make }) {
    Object.assign(this, { root, specs, make });
    this.charts = new Map();
    document.addEventListener("themechange", () => this.#each((chart) => chart.restyle()));
    new ResizeObserver(() => this.#each((chart) => chart.resize())).observe(root);
  }

  #each(work) {
    for (const chart of this.charts.values()) work(chart);
  }

  draw(names) {
    const wanted = this.specs(names);
    wanted.forEach((spec, place) => {
      let chart = this.charts.get(spec.name);
      if (!chart) {
        chart = new Chart(this.make(spec));
        this.charts.set(spec.name, chart);
      }
      if (this.root.children[place] !== chart.element) this.root.insertBefore(chart.element, this.root.children[place] ?? null);
      chart.draw();
    });
    for (const [name, chart] of this.charts)
      if (!wanted.some((spec) => spec.name === name)) {
        chart.element.remove();
        this.charts.delete(name);
      }
  }
}
