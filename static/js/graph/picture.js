// The picture: persons on a ring, one line per pair and type of event, as thick as the events are long. Gaze is drawn
// solid, gestures dashed; the type's sign stands on the line, so that nothing is told by colour alone.

import { TYPES } from "../workspace/vocabulary.js";
import { described } from "./model.js";

const SVG = "http://www.w3.org/2000/svg";
const NODE = 18; // radius, CSS pixels
const BADGE = 9;
const [THIN, THICK] = [1.5, 9];
const BEND = 26; // between neighbouring lines of one pair
const SIGN = 0.38; // where on its line a type's sign stands
const LABEL = 26; // room below a node for its name

function s(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "text") element.textContent = value;
    else if (value !== null && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter(Boolean));
  return element;
}

const pressable = (label, selected, work) => ({
  role: "button",
  tabindex: 0,
  "aria-label": label,
  "aria-pressed": String(selected),
  onclick: work,
  onkeydown: (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    event.stopPropagation();
    work(event);
  },
});

export class Picture {
  /** `sprite`: address of the icons; `online(line)`, `onperson(id)`: something was chosen. */
  constructor({ root, palette, name, number, sprite, online, onperson }) {
    Object.assign(this, { root, palette, name, number, sprite, online, onperson });
  }

  /** `people`: rows of those to draw; `lines` as of `linesIn`; `chosen`: keys of lines and ids of people. */
  draw(people, lines, chosen) {
    const focus = this.root.contains(document.activeElement) ? document.activeElement.dataset.key : null;
    const [width, height] = [this.root.clientWidth, this.root.clientHeight];
    const at = places(people, width, height);
    const most = Math.max(0.001, ...lines.map((line) => line.seconds));
    const drawn = [...spread(lines, at)].reverse(); // thick ones first, thin ones over them
    const svg = s("svg", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": "Social graph" });
    svg.append(
      s(
        "defs",
        {},
        s(
          "marker",
          { id: "graph-head", viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: 9, markerHeight: 9,
            markerUnits: "userSpaceOnUse", orient: "auto" },
          s("path", { d: "M0 0 8 4 0 8z", class: "graph-head" }),
        ),
      ),
      ...drawn.map((one) => this.#line(one, most, chosen.has(one.line.key))),
      ...drawn.map((one) => this.#sign(one, chosen.has(one.line.key))),
      ...people.map((person) => this.#person(person, at.get(person.id), chosen.has(person.id))),
    );
    this.root.replaceChildren(svg);
    if (focus) this.root.querySelector(`[data-key="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  #line({ line, path }, most, selected) {
    const width = THIN + (THICK - THIN) * Math.sqrt(line.seconds / most);
    return s(
      "g",
      {
        class: `graph-line${selected ? " is-chosen" : ""}`,
        "data-key": line.key,
        "data-type": line.type,
        ...pressable(described(line, this.name), selected, () => this.online(line)),
      },
      s("title", { text: described(line, this.name) }),
      s("path", { d: path, class: "graph-reach" }),
      s("path", {
        d: path,
        class: "graph-stroke",
        "stroke-width": width.toFixed(1),
        "stroke-dasharray": TYPES[line.type].modality === "gesture" ? `${width + 4} ${width + 3}` : null,
        "marker-end": line.directed ? "url(#graph-head)" : null,
      }),
    );
  }

  #sign({ line, middle: [x, y] }, selected) {
    return s(
      "g",
      { class: `graph-sign${selected ? " is-chosen" : ""}`, "aria-hidden": "true", onclick: () => this.online(line) },
      s("circle", { cx: x, cy: y, r: BADGE }),
      s("use", { href: `${this.sprite}#${line.type}`, x: x - 6, y: y - 6, width: 12, height: 12 }),
    );
  }

  #person(person, [x, y], selected) {
    const name = this.name(person.id);
    const group = s(
      "g",
      {
        class: `graph-person${selected ? " is-chosen" : ""}`,
        "data-key": person.id,
        ...pressable(name, selected, () => this.onperson(person.id)),
      },
      s("title", { text: name }),
      s("circle", { cx: x, cy: y, r: NODE }),
      s("text", { x, y: y + 5, class: "graph-number", text: String(person.number) }),
      name !== `Person ${person.number}` && s("text", { x, y: y + NODE + 14, class: "graph-name", text: short(name) }),
    );
    group.style.setProperty("--who", this.palette.ofPerson(person));
    return group;
  }
}

const short = (name) => (name.length > 18 ? `${name.slice(0, 17)}…` : name);

/** Person -> [x, y] on an ellipse that fills the room. */
function places(people, width, height) {
  const at = new Map();
  const [rx, ry] = [Math.max(60, width / 2 - 90), Math.max(40, (height - LABEL) / 2 - NODE - 34)];
  people.forEach(({ id }, i) => {
    const turn = (2 * Math.PI * i) / people.length - Math.PI / 2 + (people.length === 2 ? Math.PI / 2 : 0);
    at.set(id, [width / 2 + Math.min(rx, ry * 2.2) * Math.cos(turn), (height - LABEL) / 2 + 4 + ry * Math.sin(turn)]);
  });
  return at;
}

/** Lines of one pair side by side, each bent a little more: {line, path, middle}. */
function spread(lines, at) {
  const pairs = new Map();
  for (const line of lines) {
    if (!at.has(line.from) || !at.has(line.to)) continue;
    const pair = [line.from, line.to].sort().join(" ");
    if (!pairs.has(pair)) pairs.set(pair, []);
    pairs.get(pair).push(line);
  }
  const shapes = new Map();
  for (const [pair, own] of pairs) {
    own.forEach((line, i) => {
      const bend = (i - (own.length - 1) / 2) * BEND * 2;
      const shape =
        line.from === line.to
          ? loop(at.get(line.from), i, own.length, at)
          : bow(at.get(line.from), at.get(line.to), line.from === pair.split(" ")[0] ? bend : -bend);
      shapes.set(line, { line, ...shape });
    });
  }
  return lines.filter((line) => shapes.has(line)).map((line) => shapes.get(line));
}

/** A curve between two nodes whose middle lies `bend` pixels to the side; it ends at the nodes' rims. */
function bow([x1, y1], [x2, y2], bend) {
  const length = Math.hypot(x2 - x1, y2 - y1) || 1;
  const control = [(x1 + x2) / 2 - ((y2 - y1) / length) * bend, (y1 + y2) / 2 + ((x2 - x1) / length) * bend];
  const rim = (x, y) => {
    const away = Math.hypot(control[0] - x, control[1] - y) || 1;
    return [x + ((control[0] - x) / away) * (NODE + 2), y + ((control[1] - y) / away) * (NODE + 2)];
  };
  const [a, b] = [rim(x1, y1), rim(x2, y2)];
  // nearer to the first node, so that the signs of lines that cross in the middle do not lie on one another
  const on = (axis) => (1 - SIGN) ** 2 * a[axis] + 2 * SIGN * (1 - SIGN) * control[axis] + SIGN ** 2 * b[axis];
  const middle = [on(0), on(1)];
  return { path: `M${a.map(round)} Q${control.map(round)} ${b.map(round)}`, middle };
}

/** What somebody does alone: a small loop on the outer side of the node. */
function loop([x, y], i, count, at) {
  const all = [...at.values()];
  const centre = [0, 1].map((axis) => all.reduce((sum, one) => sum + one[axis], 0) / all.length);
  const out = Math.atan2(y - centre[1], x - centre[0]) + (i - (count - 1) / 2) * 0.85;
  const from = [x + NODE * Math.cos(out - 0.35), y + NODE * Math.sin(out - 0.35)];
  const to = [x + NODE * Math.cos(out + 0.35), y + NODE * Math.sin(out + 0.35)];
  const far = (turn) => [x + 48 * Math.cos(out + turn), y + 48 * Math.sin(out + turn)];
  const path = `M${from.map(round)} C${far(-0.4).map(round)} ${far(0.4).map(round)} ${to.map(round)}`;
  return { path, middle: [x + 41 * Math.cos(out), y + 41 * Math.sin(out)] };
}

const round = (value) => value.toFixed(1);
