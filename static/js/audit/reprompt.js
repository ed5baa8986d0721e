/** Another wording for a claim: what the grounder finds for it, beside what it found for the claim's own phrase. */

import { h, icon, uuid } from "../workspace/dom.js";
import { queryId } from "./masks.js";
import { tint } from "./paint.js";
import { askedOf } from "./store.js";
import { foundWords } from "./strip.js";
import { queryName } from "./words.js";

const WIDTH = 420;

export class Reprompt {
  constructor({ store, cache, api, player, overlay, video, say, renew }) {
    Object.assign(this, { store, cache, api, player, overlay, video, say, renew });
    this.dialog = document.querySelector("#reprompt");
    this.form = this.dialog.querySelector("form.reprompt-form");
    this.problem = this.dialog.querySelector(".field-error");
    this.list = this.dialog.querySelector(".wordings");
    this.form.addEventListener("submit", (event) => this.#ask(event));
    const again = () => this.dialog.open && this.draw();
    store.on("claim", again);
    cache.on("loaded", again);
    store.on("focus", () => this.dialog.close());
  }

  open() {
    const { claim } = this.store;
    if (!claim) return;
    // a phrase may be typed for a claim that has none, but for what no picture shows
    const unseen = claim.type === "audio" || claim.type === "inference";
    if (!claim.groundable && !claim.reprompts.length && (unseen || !this.store.mayRate))
      return void this.say(claim.why_not || "No mask can say anything about this claim.");
    this.player.pause();
    this.problem.textContent = "";
    this.form.elements.text.value = "";
    this.form.hidden = !this.store.mayRate;
    this.draw();
    this.dialog.showModal();
    if (this.store.mayRate) this.form.elements.text.focus();
  }

  async #ask(event) {
    event.preventDefault();
    const { claim } = this.store;
    const text = this.form.elements.text.value.trim();
    if (!text) return;
    const button = this.form.querySelector("button");
    button.disabled = true;
    this.problem.textContent = "";
    try {
      const { reprompt } = await this.api.post(`/audit/claims/${claim.id}/reprompts`, { id: uuid(), text });
      this.form.elements.text.value = "";
      const waiting = { state: "waiting", grounding: null, ...reprompt };
      this.store.take([{ ...claim, reprompts: [...claim.reprompts, waiting] }]);
      this.renew();
    } catch (error) {
      this.problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  }

  draw() {
    const { claim } = this.store;
    const own = claim.queries.find(({ role }) => role === "phrase" || role === "person");
    this.list.replaceChildren(
      ...[own && this.#side("As the claim has it", own, own.id)].filter(Boolean),
      ...claim.reprompts.map((one) => this.#wording(one)),
      ...(claim.reprompts.length
        ? []
        : [
            h("p", {
              class: "dim wording-none",
              text: `No other wording was tried.${this.store.mayRate ? " A short noun phrase works best, such as “woman in red dress”." : ""}`,
            }),
          ]),
    );
  }

  #wording(one) {
    const [query] = askedOf(one);
    if (one.state === "done" && query)
      return this.#side(`Other wording${one.user ? `, ${one.user}` : ""}`, query, queryId(query.id, one.id));
    const words = one.state === "failed" ? one.error : "It is being looked for; this page goes on by itself.";
    return h(
      "figure",
      { class: "wording", data: { state: one.state } },
      h("div", { class: "wording-picture wording-wait" }, icon(one.state === "failed" ? "error" : "clock")),
      h("figcaption", {}, h("b", { text: `“${one.text}”` }), h("p", { class: "dim", text: words })),
    );
  }

  #side(title, query, id) {
    const masks = this.cache.of(this.store.claim);
    const frames = masks?.present(id) ?? query.frames;
    const failed = query.status !== "ok" && query.status !== "empty";
    const words = foundWords(query, frames, this.store.claim.place);
    return h(
      "figure",
      { class: "wording", data: { state: "done" } },
      this.#picture(masks, id),
      h(
        "figcaption",
        {},
        h("span", { class: "dim", text: title }),
        h("b", { text: `“${queryName(query)}”` }),
        h("p", { class: failed ? "query-failed" : "dim", text: words }),
      ),
    );
  }

  /** The frame that is shown, with the query's masks. */
  #picture(masks, id) {
    const { width, height } = this.store.video;
    const canvas = h("canvas", {
      width: WIDTH,
      height: Math.round((WIDTH * height) / width),
      class: "wording-picture",
    });
    const pen = canvas.getContext("2d");
    if (this.video?.readyState >= 2) pen.drawImage(this.video, 0, 0, canvas.width, canvas.height);
    const frame = this.overlay.standing(this.player.frame);
    for (const row of masks && frame !== null ? masks.at(frame) : [])
      if (row.query === id && row.kind === "mask")
        pen.drawImage(
          tint(masks.bitsOf(row), masks.size, { fill: this.overlay.colourOf(row), alpha: 0.5 }),
          0,
          0,
          canvas.width,
          canvas.height,
        );
    return canvas;
  }
}
