/**
 * Deciding a dispute: what the raters said lies open, the machine's verdict is hidden until the decision is given, and a
 * third person's verdict needs a reason.
 */

import { Topics, uuid } from "../workspace/dom.js";
import { NO_MASK } from "./judge.js";

export class Decide extends Topics {
  constructor({ store, api, judge, say, page }) {
    super();
    Object.assign(this, { store, api, judge, say, page });
    this.form = document.querySelector("#decide-form");
    this.picked = new Map(); // claim id -> {verdict, relevance, reason}
    judge.give = (words) => this.give(words);
    judge.of = (claim) => this.of(claim);
    judge.reveal = () => this.form.requestSubmit();
    this.form.addEventListener("submit", (event) => this.#send(event));
  }

  of(claim) {
    const { adjudication } = claim;
    return this.picked.get(claim.id) ?? adjudication ?? { verdict: "", relevance: "", reason: "" };
  }

  give(words) {
    const { claim } = this.store;
    if (claim.adjudication) return void this.say("This claim is decided.");
    if (words.relevance && !this.store.hasMasks(claim)) return void this.say(NO_MASK);
    this.picked.set(claim.id, { ...this.of(claim), ...words });
    return void this.store.emit("verdict", claim);
  }

  async #send(event) {
    event.preventDefault();
    const { claim } = this.store;
    if (claim.adjudication) return this.#next();
    const reason = document.querySelector("#claim-reason");
    const said = { ...this.of(claim), reason: reason.value.trim() };
    if (!said.verdict) return this.say("Choose a verdict first: 1 to 4.", "error");
    if (!said.reason) {
      reason.focus();
      return this.say("A decision needs a reason.", "error");
    }
    try {
      const { adjudication, machine, left } = await this.api.post(`/audit/claims/${claim.id}/adjudicate`, {
        id: uuid(),
        ...said,
      });
      this.picked.delete(claim.id);
      this.store.put(claim, { adjudication, verdict: adjudication, ...(machine ? { machine } : {}) });
      this.say(left ? `Decided. ${left} left in this audit.` : "Decided. Nothing else is disputed.");
      this.emit("done", left);
      document.activeElement?.blur(); // the machine's verdict is shown now; Enter again goes on
    } catch (error) {
      this.say(error.message, "error");
    }
    return undefined;
  }

  #next() {
    const next = this.store.nextOpen();
    if (next >= 0) this.store.focus(next);
    else document.querySelector("#decide-next")?.focus();
  }
}
