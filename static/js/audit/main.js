/** The audit page: fetch what is needed, wire the parts, and say when it is ready. */

import { watchJobs, FINAL } from "../live.js";
import { Api, bytesOf } from "../workspace/api.js";
import { EditDatabase } from "../workspace/database.js";
import { h, icon, useSprite } from "../workspace/dom.js";
import { Help } from "../workspace/help.js";
import { Keys } from "../workspace/keys.js";
import { Palette } from "../workspace/palette.js";
import { Player } from "../workspace/player.js";
import { Window } from "../workspace/timeline/window.js";
import { Times } from "../workspace/times.js";
import { Transport } from "../workspace/transport.js";
import { AuditActions } from "./actions.js";
import { Cards } from "./cards.js";
import { Corrector } from "./correct.js";
import { Decide } from "./decide.js";
import { Judge, followEdits, prepare, shownEdits } from "./judge.js";
import { AUDIT_KEYMAP } from "./keymap.js";
import { MaskCache } from "./masks.js";
import { MaskOverlay } from "./overlay.js";
import { Panel } from "./panel.js";
import { AuditQueue } from "./queue.js";
import { Rationale } from "./rationale.js";
import { Reprompt } from "./reprompt.js";
import { Saving } from "./saving.js";
import { AuditStore } from "./store.js";
import { AuditStrip } from "./strip.js";
import { Thumbs } from "./thumbs.js";
import { ToolBar } from "./toolbar.js";

const page = JSON.parse(document.getElementById("audit-data").textContent);
const root = document.getElementById("audit");
const $ = (selector) => document.querySelector(selector);
const HINT =
  "Click a key to change it. While a mask is corrected, the arrows move the brush, Space dabs, and Shift or Alt held turns adding into taking away.";

let notice = 0;
/** One sentence in the corner of the picture; errors stay longer. */
function say(sentence, kind = "ok") {
  const line = $("#say");
  line.textContent = sentence;
  line.dataset.kind = kind;
  line.hidden = false;
  clearTimeout(notice);
  notice = setTimeout(() => (line.hidden = true), kind === "error" ? 9000 : 3500);
}

async function start() {
  useSprite(page.sprite);
  const api = new Api(page.api);
  const asked = {
    task: api.get(page.task),
    frames: bytesOf(`${page.api}/videos/${page.video}/frames`),
    database: new EditDatabase("sightline-audit").open(),
  };
  const [task, frames, database] = await Promise.all([asked.task, asked.frames, asked.database]);
  const audit = build({ api, task, database, times: new Times(new Float64Array(frames)) });
  root.dataset.ready = "claims";
  if (page.rates) {
    const records = await audit.queue.open();
    audit.judge.recall(records);
    for (const claim of audit.store.claims) audit.cache.corrected(claim);
  }
  await audit.cache.load(audit.store.claim);
  root.dataset.ready = "all";
  performance.mark("audit-ready");
}

/** Who decides a dispute sees the claims they may decide, and their own word is the decision. */
function disputed(claims) {
  return claims
    .filter(({ id }) => page.disputed.includes(id))
    .map((claim) => ({ ...claim, verdict: claim.adjudication }));
}

function build({ api, task, database, times }) {
  if (page.adjudicates) task.claims = disputed(task.claims);
  const store = new AuditStore(task, times);
  store.deciding = page.adjudicates;
  store.approximate = page.grounder === "embedded"; // it knows where people and things are, not their outlines exactly
  const video = store.video.has_pixels ? $("#video") : null;
  const player = new Player($("#player"), video, times);
  const palette = new Palette(() => redraw(), root);
  const window = new Window(times.frames, $(".strip-stage").clientWidth || 800);
  const queue = new AuditQueue({
    api,
    database,
    user: page.user.id,
    place: `audit ${page.response}`,
    prepare: (record) => prepare(record, store),
  });
  const cache = new MaskCache({ api, video: store.video, edits: shownEdits(queue, store) });
  const judge = new Judge({ store, queue, say });
  const actions = new AuditActions({ store, player, window, say });
  const shared = { store, player, palette, window, queue, cache, judge, actions, api, say, video };
  window.show(store.clip.start, store.clip.end, 0.02);
  const overlay = new MaskOverlay({ ...shared, canvas: $("#overlay"), stage: $("#stage"), note: $("#mask-note") });
  const corrector = new Corrector({ ...shared, overlay });
  overlay.corrector = corrector;
  const strip = new AuditStrip({ ...shared, root: $("#strip") });
  const thumbs = new Thumbs({ ...shared, src: page.proxy && store.video.has_pixels ? page.proxy : null });
  new Rationale({ ...shared, root: $("#rationale") });
  new Cards({ ...shared, root: $("#cards"), thumbs });
  new Panel({ ...shared, root: $("#claim") });
  new ToolBar({ ...shared, root: $("#tools"), corrector });
  followEdits(shared);
  const redraw = () => {
    overlay.redraw();
    strip.redraw();
  };
  const audit = { ...shared, overlay, corrector, strip };
  const renew = () => follow(audit);
  audit.reprompt = new Reprompt({ ...shared, overlay, renew });
  Object.assign(audit, moves(audit));
  audit.keys = new Keys(audit, page.preferences.keys ?? {}, (keys) => savePreference(api, { keys }), AUDIT_KEYMAP);
  audit.help = new Help(audit.keys, HINT);
  new Transport({
    ...shared,
    store: { times, video: { has_audio: page.has_audio } },
    root: $("#player"),
    overlay: { shows: {} },
  });
  new Saving({ queue, api, user: page.user, say });
  if (page.adjudicates) audit.decide = new Decide({ ...shared, page });
  watch(audit);
  open(audit);
  return audit;
}

/** The claim that the address names, else the first without a verdict. */
function open({ store, player, actions }) {
  const named = store.claims.findIndex(({ name }) => `#${name}` === location.hash);
  player.start(store.clip.start);
  const at = named >= 0 ? named : page.rates ? store.claims.findIndex((claim) => !store.mine(claim)) : 0;
  if (at > 0) store.focus(at);
  else if (store.claim) actions.toWindow();
}

function moves({ store, judge, corrector, window, player, queue, say, api }) {
  return {
    zoom(factor) {
      window.zoom(factor, window.x(player.frame));
    },
    reason() {
      $("#claim-reason")?.focus();
    },
    enter() {
      if (corrector.on) corrector.closePath();
      else judge.reveal();
    },
    provenance() {
      const box = $("#provenance");
      if (!box) return say("It is shown with the machine's verdict, after yours.");
      box.open = !box.open;
      return box.scrollIntoView({ block: "nearest" });
    },
    control() {
      const there = store.claim?.queries.some(({ role }) => role === "negative");
      if (!there) return say("This claim has no negative control: no phrase of the same kind could be asked for.");
      return store.show({ control: !store.shown.control, query: null, masks: true });
    },
    nextQuery() {
      const ids = store.claim?.queries.map(({ id }) => id) ?? [];
      const at = ids.indexOf(store.shown.query);
      store.show({ query: ids[at + 1] ?? null, masks: true });
    },
    async complete() {
      const form = $("#complete-form");
      if (page.adjudicates) return say("A dispute is decided claim by claim: Enter decides this one, N goes on.", "error");
      if (!store.mayRate || !form) return say(judge.why, "error");
      const left = store.claims.length - store.judged;
      if (left)
        return say(
          `${left} claim${left > 1 ? "s have" : " has"} no verdict of yours yet: N goes to the next.`,
          "error",
        );
      if (queue.unsaved) return say("What you said is still on its way; try again in a moment.");
      try {
        await api.post(`${page.task}/complete`);
      } catch (error) {
        return say(error.message, "error");
      }
      return form.requestSubmit();
    },
    escape() {
      if (corrector.on) return corrector.cancel();
      return store.show({ query: null, control: false });
    },
  };
}

function watch({ store, player, cache, judge, window, queue, say, complete, api, decide }) {
  player.on("error", (sentence) => say(sentence, "error"));
  const clock = $("#clip-clock");
  player.on("frame", (frame) => {
    clock.textContent = `${store.clock.zeroed(frame).toFixed(2)} s`;
    if (!player.playing) window.reveal(frame, false);
  });
  store.on("focus", () => {
    const { claim, claims, at } = store;
    if (!claim) return;
    history.replaceState(null, "", `${location.pathname}${location.search}#${claim.name}`);
    cache.load(claim).then(() => cache.load(claims[at + 1]));
  });
  const progress = () => {
    $("#progress-words").textContent = page.adjudicates
      ? `${store.judged} of ${store.claims.length} disputed claims are decided`
      : page.rates
        ? `${store.judged} of ${store.claims.length} claims have your verdict`
        : `${store.claims.length} claims`;
    const bar = $("#progress");
    bar.max = Math.max(1, store.claims.length);
    bar.value = store.judged;
    const button = $("#complete");
    if (button) button.setAttribute("aria-disabled", String(!store.mayRate || store.judged < store.claims.length));
  };
  store.on("verdict", progress);
  progress();
  $("#complete")?.addEventListener("click", () => complete());
  judge.on("all", () => say("Every claim has your verdict. Shift Enter completes the response and takes the next."));
  decide?.on("done", progress);
}

/** Until a wording has been looked for: its job's end brings the claims anew. */
let following = null;
function follow({ store, cache, api, say }) {
  following ??= watchJobs(page.slug, async (job) => {
    if (job.kind !== "reprompt" || !FINAL.has(job.state)) return;
    try {
      const fresh = await api.get(page.task);
      store.take(page.adjudicates ? disputed(fresh.claims) : fresh.claims);
      cache.renew(store.claim);
    } catch (error) {
      say(error.message, "error");
    }
  });
}

async function savePreference(api, changes) {
  try {
    await api.ask("PATCH", "/me/preferences", changes);
  } catch (error) {
    console.warn("A preference was not saved.", error);
  }
}

start().catch((error) => {
  console.error(error);
  root.dataset.ready = "failed";
  $("#failure").replaceChildren(
    icon("error"),
    h("h2", { text: "The response could not be opened" }),
    h("p", { text: error.message }),
    h("p", {
      text: "What you said and was not saved yet is kept on this computer, and is sent when the page opens again.",
    }),
    h("button", {
      type: "button",
      class: "button button-primary",
      text: "Try again",
      onclick: () => location.reload(),
    }),
  );
  $("#failure").hidden = false;
});
