// Bars too narrow for corners, hatch and words. Thousands of them are in view when much of the video is, so they are
// gathered by how they are filled and drawn one fill after another.

import { BAR } from "./bars.js";

const PLAIN_PX = 12; // bars narrower than this are plain

export class Crowd {
  #fills = new Map(); // alpha -> colour -> [x, y, width, height, ...]
  #marks = new Map(); // the same, over the fills
  #colours = new Map(); // person -> colour

  constructor({ window, store, palette }) {
    Object.assign(this, { window, store, palette });
  }

  /** Take a bar in, if it is one of the crowd; whoever is selected, or not saved yet, stands alone. */
  take(event, left, right, y) {
    const { palette, store } = this;
    const width = right - left;
    if (width >= PLAIN_PX || (store.pendingIds.size && store.pendingIds.has(`event:${event.id}`))) return false;
    const edge = Math.min(3, width / 2);
    if (event.status === "rejected") add(this.#fills, 1, palette.text_dim, left, y + BAR / 2 - 1, width, 2);
    else this.#stripes(event, left, y, width);
    if (event.stale) {
      add(this.#marks, 1, palette.warn, left, y, edge, BAR);
      add(this.#marks, 1, palette.warn, right - edge, y, edge, BAR);
    }
    if (event.edited && event.status !== "rejected")
      add(this.#marks, 1, palette.bg, right - edge, y, edge, 4);
    return true;
  }

  #stripes({ participants, status }, left, y, width) {
    const alpha = status === "confirmed" ? 1 : 0.5;
    const count = participants.length;
    if (!count) return add(this.#fills, alpha, this.palette.text_dim, left, y, width, BAR);
    const stripe = BAR / count;
    for (let i = 0; i < count; i++)
      add(this.#fills, alpha, this.#colourOf(participants[i][0]), left, y + i * stripe, width, stripe);
    return undefined;
  }

  #colourOf(id) {
    let colour = this.#colours.get(id);
    if (!colour) this.#colours.set(id, (colour = this.palette.ofPerson(this.store.person(id))));
    return colour;
  }

  draw(pen) {
    for (const fills of [this.#fills, this.#marks])
      for (const [alpha, byColour] of fills) {
        pen.globalAlpha = alpha;
        for (const [colour, boxes] of byColour) {
          pen.fillStyle = colour;
          for (let i = 0; i < boxes.length; i += 4) pen.fillRect(boxes[i], boxes[i + 1], boxes[i + 2], boxes[i + 3]);
        }
      }
    pen.globalAlpha = 1;
  }
}

/** Put a box behind those of its alpha and colour; one that touches the last of its row makes that one longer. */
function add(fills, alpha, colour, x, y, width, height) {
  if (!fills.has(alpha)) fills.set(alpha, new Map());
  const byColour = fills.get(alpha);
  let boxes = byColour.get(colour);
  if (!boxes) byColour.set(colour, (boxes = []));
  const last = boxes.length - 4;
  if (last >= 0 && boxes[last + 1] === y && boxes[last + 3] === height && x <= boxes[last] + boxes[last + 2])
    boxes[last + 2] = Math.max(boxes[last + 2], x + width - boxes[last]);
  else boxes.push(x, y, width, height);
}
