/** The claim in focus: what it says, one's own verdict, and then the machine's. */

import { h, icon, onceAFrame } from "../workspace/dom.js";
import { timeWords } from "./cards.js";
import { chip } from "./chips.js";
import { machineWords, otherWords } from "./machine.js";
import { foreignWords, presence } from "./strip.js";
import { BASIS, RELEVANCE, ROLES, STATUS, TYPES, VERDICTS, queryName, scopeWords } from "./words.js";

export class Panel {
  constructor({ root, store, judge, palette, actions, player, cache }) {
    Object.assign(this, { root, store, judge, palette, actions, player, cache });
    this.facts = root.querySelector("#claim-facts");
    this.machine = root.querySelector("#claim-machine");
    this.reason = root.querySelector("#claim-reason");
    this.status = root.querySelector("#claim-status");
    this.#buttons();
    this.reason?.addEventListener("change", () => judge.give({ reason: this.reason.value.trim() }));
    this.reason?.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && !event.shiftKey) {
        event.preventDefault();
        this.reason.blur();
      }
    });
    const soon = onceAFrame(() => this.draw(), root);
    for (const topic of ["focus", "claim", "verdict"]) store.on(topic, soon);
    cache.on("loaded", soon);
    this.draw();
  }

  #buttons() {
    for (const [name, words, group] of [
      ["verdict", VERDICTS, this.root.querySelector("#verdicts")],
      ["relevance", RELEVANCE, this.root.querySelector("#relevances")],
    ])
      group?.replaceChildren(
        ...Object.entries(words).map(([value, { word, key, title, sign }]) =>
          h(
            "button",
            {
              type: "button",
              class: `pick pick-${value}`,
              title: `${title} (${key})`,
              "aria-pressed": "false",
              data: { [name]: value },
              onclick: () => this.judge.give({ [name]: value }),
            },
            h("kbd", { text: key }),
            sign && icon(sign, true),
            h("span", { text: word }),
          ),
        ),
      );
  }

  draw() {
    const { store } = this;
    const { claim } = store;
    this.root.hidden = !claim;
    if (!claim) return;
    this.root.dataset.claim = claim.id;
    this.#drawFacts(claim);
    this.#drawSaid(claim);
    this.#drawMachine(claim);
  }

  // ---- What it says ----

  #drawFacts(claim) {
    const { store } = this;
    const told = JSON.stringify([
      claim.id,
      claim.queries.length,
      claim.edits.length,
      claim.reprompts.map(({ state }) => state),
      Boolean(this.cache.of(claim)),
    ]);
    if (told === this.told) return;
    this.told = told;
    this.facts.replaceChildren(
      h(
        "p",
        { class: "claim-head" },
        h("b", { class: "mono", text: `${store.at + 1} / ${store.claims.length}` }),
        h("span", { class: `type type-${claim.type}`, text: TYPES[claim.type] }),
        claim.polarity === "negated" &&
          h("span", { class: "badge badge-warn", text: "negated", title: "The claim says that this is not so" }),
        claim.load_bearing &&
          h("span", {
            class: "badge badge-accent",
            text: "load-bearing",
            title: "The answer rests on it, as the summariser sees it (a heuristic)",
          }),
      ),
      h("blockquote", { class: `claim-text span-${claim.type}`, text: claim.text }),
      h("dl", { class: "facts claim-list" }, ...this.#lines(claim)),
      ...(claim.groundable || claim.reprompts.length ? this.#queries(claim) : []),
    );
  }

  #lines(claim) {
    const { store, palette } = this;
    const line = (name, ...parts) => [h("dt", { text: name }), h("dd", {}, ...parts)];
    const people = claim.persons.map((tag) => chip(store, palette, tag));
    const meant = claim.meant.map((tag) => chip(store, palette, tag));
    return [
      ...line(
        "Who",
        people.length ? people : h("span", { class: "dim", text: "nobody by tag" }),
        meant.length > 0 && [h("span", { class: "dim", text: " may mean " }), meant],
      ),
      ...line(
        "When",
        claim.place?.timed
          ? h("button", {
              type: "button",
              class: "link mono",
              text: timeWords(claim),
              title: "Go there (G)",
              onclick: () => this.actions.toWindow(),
            })
          : h("span", { class: "mono", text: timeWords(claim) }),
        h("span", { class: "dim", text: ` ${BASIS[claim.time.basis]}${claim.place && !claim.place.timed ? ", so the whole clip counts" : ""}` }),
      ),
      ...(claim.groundable
        ? []
        : line(
            "Masks",
            h("span", { class: "dim", text: claim.why_not || "No mask can say anything about this claim." }),
          )),
      ...claim.phrases.flatMap(({ text, attributes }) =>
        attributes.length ? line("Attributes", `${attributes.join(", ")} (${text})`) : [],
      ),
    ];
  }

  /** Every query with where it was found; reprompts that wait say so. */
  #queries(claim) {
    const masks = this.cache.of(claim);
    const items = claim.queries.map((query) => {
      const counts = presence(query, masks?.present(query.id) ?? query.frames, claim.place);
      const name = [
        h("span", { class: "query-role", text: ROLES[query.role] }),
        " ",
        h("b", { text: queryName(query) }),
        scopeWords(query) && h("span", { class: "dim query-scope", text: ` ${scopeWords(query)}` }),
      ];
      if (!counts)
        return h(
          "tr",
          { class: `query query-${query.role}` },
          h("th", { scope: "row" }, name),
          h("td", { colspan: 2, class: "query-failed", text: query.sentence || STATUS[query.status] }),
        );
      return h(
        "tr",
        { class: `query query-${query.role}` },
        h("th", { scope: "row" }, name),
        counts.map(([found, of]) => h("td", { class: "mono", text: of ? `${found}/${of}` : "–" })),
      );
    });
    const waiting = claim.reprompts
      .filter(({ state }) => state !== "done")
      .map(({ text, state, error }) =>
        h(
          "tr",
          { class: "query" },
          h("th", { scope: "row" }, h("span", { class: "query-role", text: ROLES.reprompt }), " ", h("b", { text })),
          h("td", {
            colspan: 2,
            class: state === "failed" ? "query-failed" : "dim",
            text: state === "failed" ? error : "is being looked for",
          }),
        ),
      );
    if (!items.length && !waiting.length)
      return [
        h("p", {
          class: "dim",
          text: claim.settled
            ? "Nothing: the claim has no phrase that could be looked for."
            : "The grounder has not come to this claim yet.",
        }),
      ];
    const timed = claim.place?.timed;
    const head = ["Looked for", timed ? "in span" : "in clip", timed ? "outside" : ""].map((text) =>
      h("th", { scope: "col", text }),
    );
    const shots = claim.place && foreignWords(claim.place);
    return [
      h(
        "table",
        { class: "queries", title: "Frames with a mask, of those looked at" },
        h("thead", {}, h("tr", {}, head)),
        h("tbody", {}, items, waiting),
      ),
      shots ? h("p", { class: "dim query-shots", text: `${shots}.` }) : "",
    ];
  }

  // ---- One's own word ----

  #drawSaid(claim) {
    const said = this.judge.of(claim);
    for (const button of this.root.querySelectorAll("[data-verdict]"))
      button.setAttribute("aria-pressed", String(button.dataset.verdict === said.verdict));
    const masks = this.store.hasMasks(claim);
    for (const button of this.root.querySelectorAll("[data-relevance]")) {
      button.setAttribute("aria-pressed", String(button.dataset.relevance === said.relevance));
      button.setAttribute("aria-disabled", String(!masks));
    }
    if (this.reason && document.activeElement !== this.reason) this.reason.value = said.reason;
    if (this.status) this.status.textContent = this.#statusWords(claim, said, masks);
  }

  #statusWords(claim, said, masks) {
    const { store } = this;
    if (store.deciding) {
      if (claim.adjudication) return "Decided. Enter or N goes to the next.";
      return said.verdict ? "A reason, then Enter decides." : "Your decision: 1 to 4.";
    }
    if (!store.mayRate) return this.judge.why;
    const left = store.claims.length - store.judged;
    if (!said.verdict) return said.relevance ? "Say the verdict, too: 1 to 4." : "Your verdict: 1 to 4.";
    if (masks && !said.relevance && !claim.machine) return "How relevant is the mask: Q, W or E. Enter leaves it out.";
    return left
      ? `${left} left: N goes to the next.`
      : "Every claim has your verdict: Shift Enter completes the response.";
  }

  // ---- The machine's ----

  #drawMachine(claim) {
    const told = JSON.stringify([
      claim.id,
      claim.machine,
      Boolean(this.store.mine(claim)),
      claim.others,
      claim.adjudication,
      claim.reprompts.map(({ machine }) => machine),
    ]);
    if (told === this.toldMachine) return;
    this.toldMachine = told;
    const hidden = this.store.deciding
      ? "It is not shown before the decision."
      : this.store.mine(claim)
        ? "It is shown once you have said how relevant the mask is, or at Enter."
        : "Hidden until you have given your own verdict.";
    const people = otherWords(claim);
    const machine = [
      h("h3", { text: "The machine's verdict" }),
      ...(claim.machine
        ? machineWords(claim, this.store)
        : [h("p", { class: "dim machine-hidden" }, icon("eye-off", true), h("span", { text: hidden }))]),
    ];
    // what has to be decided between is read first
    this.machine.replaceChildren(...(this.store.deciding ? [...people, ...machine] : [...machine, ...people]));
  }
}
