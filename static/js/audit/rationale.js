/** The rationale with its claims: coloured by type, numbered, the one in focus outlined. A click goes to the claim. */

import { h } from "../workspace/dom.js";
import { TYPES, VERDICTS } from "./words.js";

const TAG = /<\/?[a-z_]+>/gi;

export class Rationale {
  constructor({ root, store }) {
    Object.assign(this, { root, store });
    this.marks = new Map(); // claim id -> element
    this.#build();
    root.addEventListener("click", (event) => this.#go(event));
    root.addEventListener("keydown", (event) => {
      if (!event.shiftKey && (event.key === "Enter" || event.key === " ")) this.#go(event);
    });
    store.on("focus", () => this.draw(true));
    store.on("verdict", () => this.draw());
    this.draw();
  }

  #go(event) {
    const mark = event.target.closest("[data-claim]");
    if (!mark || mark.dataset.claim === this.store.claim?.id) return; // its keys are the page's
    event.preventDefault();
    this.store.focusOn(mark.dataset.claim);
  }

  /** Claims in the order of the text; what two claims share belongs to the first. */
  #build() {
    const { claims } = this.store;
    const { text } = this.store.task;
    const parts = [];
    let at = 0;
    for (const [number, claim] of claims.entries()) {
      const [start, end] = [Math.max(claim.span[0], at), claim.span[1]];
      if (end <= start) continue;
      parts.push(...plain(text.slice(at, start)));
      const mark = h(
        "span",
        { class: `span span-${claim.type}`, role: "button", data: { claim: claim.id } },
        h("sup", { class: "span-number", "aria-hidden": "true", text: String(number + 1) }),
        text.slice(start, end),
      );
      this.marks.set(claim.id, mark);
      parts.push(mark);
      at = end;
    }
    parts.push(...plain(text.slice(at)));
    this.root.replaceChildren(...parts);
  }

  draw(reveal = false) {
    const { store } = this;
    for (const [number, claim] of store.claims.entries()) {
      const mark = this.marks.get(claim.id);
      if (!mark) continue;
      const focused = claim === store.claim;
      const mine = store.mine(claim);
      mark.classList.toggle("in-focus", focused);
      mark.classList.toggle("is-judged", Boolean(mine));
      mark.tabIndex = focused ? 0 : -1;
      mark.setAttribute("aria-pressed", String(focused));
      const said = mine ? `, your verdict: ${VERDICTS[mine.verdict].word}` : "";
      mark.setAttribute("aria-label", `Claim ${number + 1}, ${TYPES[claim.type]}${said}: ${claim.text}`);
      if (focused && reveal) mark.scrollIntoView({ block: "nearest" });
    }
  }
}

/** Text that belongs to no claim; the reply's tags are dim. */
function plain(text) {
  const parts = [];
  let at = 0;
  for (const tag of text.matchAll(TAG)) {
    if (tag.index > at) parts.push(text.slice(at, tag.index));
    parts.push(h("span", { class: "reply-tag", text: tag[0] }));
    at = tag.index + tag[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
