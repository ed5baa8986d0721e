// The icons of the sprite as paths, for drawing on a canvas: one source for both.

const SIZE = 20;

export class Glyphs {
  #shapes = new Map();

  async load(url) {
    const text = await (await fetch(url)).text();
    const sprite = new DOMParser().parseFromString(text, "image/svg+xml");
    for (const symbol of sprite.querySelectorAll("symbol")) {
      const shapes = [];
      for (const element of symbol.querySelectorAll("path, circle, rect")) {
        const path = pathOf(element);
        const filled = (element.getAttribute("fill") ?? "none") !== "none";
        const stroked = element.getAttribute("stroke") !== "none";
        shapes.push({ path, filled, stroked, width: Number(element.getAttribute("stroke-width") ?? 1.6) });
      }
      this.#shapes.set(symbol.id, shapes);
    }
  }

  /** Draw an icon of `size` px with its upper left corner at (x, y). */
  draw(context, name, x, y, size, colour) {
    const shapes = this.#shapes.get(name);
    if (!shapes) return;
    context.save();
    context.translate(x, y);
    context.scale(size / SIZE, size / SIZE);
    context.strokeStyle = context.fillStyle = colour;
    context.lineCap = context.lineJoin = "round";
    for (const { path, filled, stroked, width } of shapes) {
      context.lineWidth = width * Math.max(1, (0.8 * SIZE) / size);
      if (filled) context.fill(path);
      if (stroked) context.stroke(path);
    }
    context.restore();
  }
}

function pathOf(element) {
  const number = (name) => Number(element.getAttribute(name) ?? 0);
  if (element.tagName === "path") return new Path2D(element.getAttribute("d"));
  const path = new Path2D();
  if (element.tagName === "circle") path.arc(number("cx"), number("cy"), number("r"), 0, 2 * Math.PI);
  else path.roundRect(number("x"), number("y"), number("width"), number("height"), number("rx"));
  return path;
}
