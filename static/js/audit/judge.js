/**
 * What an auditor does with claims: verdict, relevance, reason, and after that the machine's word. Everything goes through
 * the queue, so nothing is lost; what is shown is what was said, acknowledged or not.
 *
 * The machine's word is asked for together with the last part of one's own: the verdict, and the relevance where there are
 * masks. From then on the studio keeps the blind word apart from what is changed later.
 */

import { Topics } from "../workspace/dom.js";
import { editsShown } from "./correct.js";
import { keyOf } from "./masks.js";
import { VERDICTS } from "./words.js";

export const NO_MASK = "This claim has no mask, so there is no relevance to judge.";
const EMPTY = { verdict: "", relevance: "", reason: "" };
const MOST_S = 3600; // a claim that was open longer was not looked at all the time

export class Judge extends Topics {
  #chosen = new Map(); // claim id -> relevance and reason that came before a verdict
  #since = performance.now();

  constructor({ store, queue, say }) {
    super();
    Object.assign(this, { store, queue, say });
    store.on("focus", () => (this.#since = performance.now()));
    queue.on("saved", ({ record, data }) => this.#saved(record, data));
    queue.on("discarded", (record) => this.#show(record.about));
    queue.on("conflict", ({ row, about, answer }) => {
      const claim = store.claims[store.index.get(about)];
      if (claim && row.startsWith("verdict") && answer?.theirs) store.put(claim, { verdict: answer.theirs });
    });
  }

  /** What the page shows as chosen for a claim. */
  of(claim) {
    return this.store.mine(claim) ?? { ...EMPTY, ...this.#chosen.get(claim.id) };
  }

  /** Say more of the claim in focus: {verdict?, relevance?, reason?}. */
  give(words) {
    const { claim } = this.store;
    if (!claim) return;
    if (!this.store.mayRate) return void this.say(this.why, "error");
    if (words.relevance && !this.store.hasMasks(claim)) return void this.say(NO_MASK);
    const before = this.of(claim);
    const said = { ...EMPTY, ...pick(before), ...words };
    if (Object.keys(EMPTY).every((name) => said[name] === before[name])) return;
    if (!said.verdict) {
      this.#chosen.set(claim.id, said);
      this.store.emit("verdict", claim);
      return;
    }
    this.#chosen.delete(claim.id);
    this.#send(claim, said, this.#isWhole(claim, said));
  }

  get why() {
    const { task } = this.store;
    if (this.store.deciding) return "Who decides a dispute leaves masks and wordings as the raters had them.";
    if (task.seat?.completed) return "You have completed this response: what you said of it stays.";
    if (!task.may.rate) return "Your role, or your part in this audit, is to look.";
    return "Take this response first: then your verdicts count.";
  }

  /** Whether one's own word is complete, so that the machine's may be shown. */
  #isWhole(claim, { verdict, relevance }) {
    return Boolean(verdict && (relevance || !this.store.hasMasks(claim)));
  }

  #send(claim, said, reveal) {
    const seconds = Math.min(MOST_S, (performance.now() - this.#since) / 1000);
    this.#since = performance.now();
    const body = { ...said, seconds: Math.round(seconds * 10) / 10, ...(reveal ? { reveal: true } : {}) };
    this.queue.put({
      row: `verdict ${claim.id}`,
      method: "PUT",
      path: `/audit/claims/${claim.id}/verdict`,
      body,
      label: `Claim ${this.store.index.get(claim.id) + 1}: ${VERDICTS[said.verdict].word.toLowerCase()}`,
      about: claim.id,
      apply: null,
    });
    this.#show(claim.id);
  }

  /** The machine's word without saying how relevant the mask is. */
  reveal() {
    const { claim } = this.store;
    const mine = claim && this.store.mine(claim);
    if (!mine) return void this.say("Your own verdict comes first; then the machine's is shown.");
    if (claim.machine || this.queue.about(claim.id).some(({ body }) => body.reveal)) return;
    this.#send(claim, { ...EMPTY, ...pick(mine) }, true);
  }

  /** What waits of a claim, in place of what is acknowledged. */
  #show(id) {
    const claim = this.store.claims[this.store.index.get(id)];
    if (!claim) return;
    const newest = this.queue.about(id).findLast(({ row }) => row.startsWith("verdict"));
    this.store.setWaiting(claim, newest ? { ...EMPTY, ...pick(newest.body) } : null);
  }

  /** Take up what an earlier tab left unsent. */
  recall(records) {
    for (const id of new Set(records.map(({ about }) => about))) this.#show(id);
  }

  #saved(record, data) {
    const claim = this.store.claims[this.store.index.get(record.about)];
    if (!claim || !record.row.startsWith("verdict")) return;
    this.#show(claim.id);
    this.store.put(claim, { verdict: data.mine, ...(data.machine ? { machine: data.machine } : {}) });
    if (data.left === 0) this.emit("all");
  }
}

const pick = ({ verdict, relevance, reason }) => ({ verdict, relevance, reason });

/** The body of a queued record as it is sent: with the versions that are known by then. */
export function prepare(record, store) {
  const claim = store.claims[store.index.get(record.about)];
  if (!claim) return record.body;
  if (record.row.startsWith("verdict")) return { ...record.body, version: claim.verdict?.version ?? null };
  if (!record.body.edits) return record.body;
  const known = new Map(claim.edits.map((edit) => [keyOf(edit.query, edit.object, edit.frame), edit]));
  const edits = record.body.edits.map((edit) => {
    const now = known.get(keyOf(edit.query, edit.object, edit.frame));
    return now ? { ...edit, id: now.id, version: now.version } : edit;
  });
  return { ...record.body, edits };
}

/** Corrections of masks as the studio acknowledged them, and as the page shows them. */
export function followEdits({ store, queue, cache }) {
  queue.on("saved", ({ record, data }) => {
    const claim = store.claims[store.index.get(record.about)];
    if (!claim || !record.row.startsWith("masks") || !data?.edits) return;
    const gone = new Set(data.gone ?? []);
    const kept = new Map(claim.edits.filter(({ id }) => !gone.has(id)).map((edit) => [edit.id, edit]));
    for (const edit of data.edits) kept.set(edit.id, edit);
    claim.edits = [...kept.values()];
    (store.task.steps ??= {})[claim.id] = data.steps;
    cache.corrected(claim);
  });
  queue.on("discarded", ({ about }) => {
    const claim = store.claims[store.index.get(about)];
    if (claim) cache.corrected(claim);
  });
  // what another window made of the mask is what a second try starts from
  queue.on("conflict", ({ row, about, answer }) => {
    const claim = store.claims[store.index.get(about)];
    if (!claim || !row.startsWith("masks")) return;
    claim.edits = claim.edits.filter(({ id }) => id !== answer?.id);
    if (answer?.theirs) claim.edits.push(answer.theirs);
    cache.corrected(claim);
  });
}

/** The corrections of a claim that are shown: one's own, or where those of several people are open those of one of them. */
export const shownEdits = (queue, store) => (claim) => {
  const open = claim.edits.some(({ user }) => user !== undefined);
  return editsShown(open ? claim.edits.filter(({ user }) => user === store.whose) : claim.edits, queue.about(claim.id));
};
