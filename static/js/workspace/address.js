// The address carries the state: frame, selection, filters, the part in view. A pasted link opens the same picture.

import { afterQuiet } from "./dom.js";

/** {frame, sel, from, to, hide, rejected, present, who, triage, question} as found in the address. */
export function readAddress() {
  const query = new URLSearchParams(location.search);
  const number = (name) => (/^\d+$/.test(query.get(name) ?? "") ? Number(query.get(name)) : null);
  return {
    frame: number("frame"),
    from: number("from"),
    to: number("to"),
    sel: query.get("sel"),
    hide: (query.get("hide") ?? "").split(",").filter(Boolean),
    rejected: query.get("rejected") === "1",
    present: query.get("present") !== "0",
    who: number("who"),
    triage: query.get("triage"),
    question: /^[\da-f-]{36}$/i.test(query.get("question") ?? "") ? query.get("question") : null,
  };
}

export class Address {
  constructor({ store, player, window, actions, question }) {
    Object.assign(this, { store, player, window, actions, question });
    const soon = afterQuiet(250, () => this.write());
    player.on("settled", soon);
    window.on("change", soon);
    for (const topic of ["selection", "filters"]) store.on(topic, soon);
    actions.on("triage", soon);
  }

  write() {
    const { store, player, window } = this;
    const query = new URLSearchParams();
    if (this.question) query.set("question", this.question);
    query.set("frame", player.frame);
    const { kind, ids } = store.selection;
    if (kind) query.set("sel", `${kind}:${ids[0]}`);
    if (window.scale > window.least * 1.001) {
      query.set("from", Math.floor(window.start));
      query.set("to", Math.ceil(window.end));
    }
    const { hidden, rejected, present, person } = store.filters;
    if (hidden.size) query.set("hide", [...hidden].join(","));
    if (rejected) query.set("rejected", "1");
    if (!present) query.set("present", "0");
    if (person) query.set("who", store.person(person)?.number ?? "");
    if (this.actions.triage) query.set("triage", this.actions.triage);
    history.replaceState(null, "", `?${query}`);
  }
}
