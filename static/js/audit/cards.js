/** The claims as cards: thumbnail, type, who and when, and what this person said of each. One tab stop; arrows move. */

import { h, icon } from "../workspace/dom.js";
import { chip } from "./chips.js";
import { BASIS, TYPES, VERDICTS, seconds } from "./words.js";

export class Cards {
  constructor({ root, store, palette, thumbs }) {
    Object.assign(this, { root, store, palette, thumbs });
    this.cards = new Map();
    root.replaceChildren(...store.claims.map((claim, i) => this.#card(claim, i)));
    root.addEventListener("click", (event) => {
      const card = event.target.closest("[data-claim]");
      if (card) store.focusOn(card.dataset.claim);
    });
    root.addEventListener("keydown", (event) => this.#key(event));
    const seen = new IntersectionObserver((entries) => this.#seen(entries), { root, rootMargin: "120px 0px" });
    for (const card of this.cards.values()) seen.observe(card.element);
    store.on("focus", () => this.draw(true));
    store.on("verdict", () => this.draw());
    this.draw(true);
  }

  #card(claim, i) {
    const thumb = h("span", { class: "card-thumb", "aria-hidden": "true" }, icon(claim.thumb ? "overlay" : "eye-off"));
    const mark = h("span", { class: "card-mark" });
    const element = h(
      "li",
      { class: "card", role: "option", id: `card-${claim.id}`, data: { claim: claim.id } },
      h("span", { class: "card-number mono", text: String(i + 1) }),
      thumb,
      h(
        "span",
        { class: "card-body" },
        h(
          "span",
          { class: "card-head" },
          h("span", { class: `type type-${claim.type}`, text: TYPES[claim.type] }),
          claim.polarity === "negated" &&
            h("span", { class: "badge", text: "not", title: "The claim says that this is not so" }),
          claim.persons.map((tag) => chip(this.store, this.palette, tag)),
          h("span", { class: "card-time mono dim", text: timeWords(claim), title: BASIS[claim.time.basis] }),
        ),
        h("span", { class: "card-text", text: claim.text }),
      ),
      mark,
    );
    this.cards.set(claim.id, { element, thumb, mark });
    return element;
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    event.stopPropagation();
    this.store.focus(this.store.at + step);
  }

  /** Thumbnails of the cards that can be seen, one after another. */
  #seen(entries) {
    for (const { isIntersecting, target } of entries) {
      const claim = this.store.claims[this.store.index.get(target.dataset.claim)];
      const card = this.cards.get(claim.id);
      if (!isIntersecting || card.pictured) continue;
      card.pictured = true;
      this.thumbs.picture(claim).then((canvas) => canvas && card.thumb.replaceChildren(canvas));
    }
  }

  draw(reveal = false) {
    const { store, root } = this;
    for (const claim of store.claims) {
      const { element, mark } = this.cards.get(claim.id);
      const focused = claim === store.claim;
      element.setAttribute("aria-selected", String(focused));
      const mine = store.mine(claim);
      const said = mine ? mine.verdict : "";
      if (mark.dataset.said !== said) {
        mark.dataset.said = said;
        mark.replaceChildren(
          ...(said
            ? [icon(VERDICTS[said].sign, true), h("span", { class: "sr-only", text: VERDICTS[said].word })]
            : []),
        );
        mark.title = said ? `You: ${VERDICTS[said].word}` : "";
      }
      if (focused && reveal) {
        root.setAttribute("aria-activedescendant", element.id);
        element.scrollIntoView({ block: "nearest" });
      }
    }
  }
}

export function timeWords({ time }) {
  if (time.start_s === null || time.start_s === undefined) return "no time";
  if (time.start_s === time.end_s) return `at ${seconds(time.start_s)} s`;
  return `${seconds(time.start_s)}–${seconds(time.end_s)} s`;
}
