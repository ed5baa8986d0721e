// The workspace page: fetch what is needed, wire the parts, and say when it is ready.

import { Actions } from "./actions.js";
import { Address, readAddress } from "./address.js";
import { Api, bytesOf } from "./api.js";
import { Banners } from "./banners.js";
import { EditDatabase } from "./database.js";
import { Dialogs } from "./dialogs.js";
import { clamp, h, useSprite } from "./dom.js";
import { EditQueue } from "./edits.js";
import { Glyphs } from "./glyphs.js";
import { Graph } from "./graph.js";
import { Help } from "./help.js";
import { Inspector } from "./inspector/inspector.js";
import { Keys } from "./keys.js";
import { Live } from "./live.js";
import { Masks } from "./masks.js";
import { Overlay } from "./overlay.js";
import { Palette } from "./palette.js";
import { Panels } from "./panels.js";
import { Player } from "./player.js";
import { Ribbon } from "./ribbon.js";
import { Samples } from "./samples.js";
import { Saving } from "./saving.js";
import { Store } from "./store.js";
import { Strip } from "./strip.js";
import { Thumbs } from "./thumbs.js";
import { Timeline } from "./timeline/timeline.js";
import { Window } from "./timeline/window.js";
import { Times, parseFrame } from "./times.js";
import { Toolbar } from "./toolbar.js";
import { Transport } from "./transport.js";
import { Twin } from "./twin.js";
import { UndoStack } from "./undo.js";

const page = JSON.parse(document.getElementById("workspace-data").textContent);
const root = document.getElementById("workspace");
const $ = (selector) => document.querySelector(selector);
const VELOCITY_LIMIT = 0.5; // of the rule for sudden shifts: of the picture's longer side a second
const WAVE_RATE = 50; // pairs of the loudness curve a second

let notice = 0;
/** One sentence in the corner of the timeline; errors stay longer. */
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
  const glyphs = new Glyphs();
  const asked = {
    bundle: api.get(`/videos/${page.video}/bundle`),
    frames: bytesOf(`${page.api}/videos/${page.video}/frames`),
    ribbon: page.ribbon ? bytesOf(page.ribbon) : null,
    glyphs: glyphs.load(page.sprite),
    database: new EditDatabase().open(),
  };
  asked.ribbon?.catch(() => {}); // handled where it is awaited
  performance.mark("workspace-asked");
  const [bundle, frames] = await Promise.all([asked.bundle, asked.frames, asked.glyphs]);
  performance.mark("workspace-answered");
  const times = new Times(new Float64Array(frames));
  const workspace = build({ api, glyphs, bundle, times, database: await asked.database });
  if (workspace.asked.question) await openQuestion(workspace);
  root.dataset.ready = "events";
  await workspace.queue.open();
  if (asked.ribbon) await addRun(workspace, asked.ribbon);
  addMasks(workspace);
  if (page.waveform && bundle.video.has_audio) addSound(workspace);
  workspace.live.start();
  if (bundle.me.actions.includes("annotate")) recallUndo(workspace);
  performance.mark("workspace-ready");
  root.dataset.ready = "all";
}

function build({ api, glyphs, bundle, times, database }) {
  const address = readAddress();
  const store = new Store(bundle, times);
  const video = store.video.has_pixels ? $("#video") : null;
  const player = new Player($("#player"), video, times);
  const window = new Window(times.frames, $(".tl-stage").clientWidth || 1000);
  const palette = new Palette(() => {
    timeline.changed();
    overlay.draw();
    inspector.redraw();
  });
  const queue = new EditQueue({ store, database, api, user: page.user.id, video: page.video });
  const undo = new UndoStack(queue);
  const actions = new Actions({ store, undo, player, window, say });
  const shared = { store, player, window, palette, glyphs, actions, queue, api };
  if (address.from !== null && address.to > address.from) window.show(address.from, address.to);
  applyFilters(store, address);
  const timeline = new Timeline({ ...shared, root: $("#timeline"), run: store.run });
  timeline.threshold = VELOCITY_LIMIT;
  const overlay = new Overlay({ ...shared, canvas: $("#overlay"), stage: $("#stage") });
  const inspector = new Inspector({ ...shared, root: $("#inspector"), timeline, overlay });
  inspector.parse = (text) => parseFrame(text, times);
  overlay.detailsOf = (event) => (event === store.draft ? null : (inspector.story(event)?.details ?? null));
  inspector.on("story", () => overlay.redraw());
  const panels = new Panels({
    root,
    sizes: page.preferences.panels ?? {},
    save: (sizes) => savePreference(api, { panels: sizes }),
  });
  const workspace = { ...shared, undo, timeline, overlay, inspector, panels, video, times, asked: address };
  Object.assign(workspace, moves(workspace));
  workspace.dialogs = new Dialogs({ ...shared, overlay });
  workspace.live = new Live({
    store,
    queue,
    api,
    video: page.video,
    stream: `${page.api}/videos/${page.video}/stream`,
  });
  workspace.keys = new Keys(workspace, page.preferences.keys ?? {}, (keys) => savePreference(api, { keys }));
  workspace.help = new Help(workspace.keys);
  timeline.thumbs = new Thumbs({
    ...shared,
    video,
    overlay,
    onchange: () => {
      timeline.gutter.refresh();
      inspector.redraw();
    },
  });
  new Transport({ ...shared, root: $("#player"), overlay, video });
  workspace.toolbar = new Toolbar({ ...shared, root: $("#timeline"), workspace });
  workspace.graph = new Graph(workspace);
  new Saving({ ...shared, username: page.user.username });
  new Banners({ ...shared, root: $("#banners"), live: workspace.live });
  new Strip({ ...shared, root: $("#strip"), inspector, panels });
  new Twin({ ...shared, root: $("#twin") });
  watch(workspace);
  open(workspace, address);
  new Address({ ...shared, question: address.question });
  return workspace;
}

function applyFilters(store, address) {
  const person = address.who === null ? null : (store.people.find((one) => one.number === address.who)?.id ?? null);
  store.setFilters({ hidden: new Set(address.hide), rejected: address.rejected, present: address.present, person });
}

/** Open what the address names. */
function open({ store, player, actions, timeline, window }, address) {
  const [kind, id] = (address.sel ?? "").includes(":") ? address.sel.split(":") : ["event", address.sel];
  const known = id && store.view[kind]?.has(id);
  const event = known && kind === "event" ? store.get("event", id) : null;
  timeline.resize();
  player.start(clamp(address.frame ?? event?.start ?? 0, 0, store.times.frames - 1));
  if (known) store.select(kind, [id]);
  if (event && address.from === null) window.show(event.start, event.end, 4);
  if (address.triage) triageFrom(actions, event, address.triage);
}

/** Triage begins with the event that the address names, else with the least certain one. */
function triageFrom(actions, event, what) {
  if (event?.status !== "proposed") return actions.setTriage(what);
  actions.triage = what;
  actions.setLooping(true);
  return actions.emit("triage", what);
}

/** Compound moves that keys and buttons share. */
function moves(workspace) {
  const { store, player, window, actions, timeline, overlay } = workspace;
  return {
    zoom(factor) {
      const x = window.x(player.frame);
      window.zoom(factor, x >= 0 && x <= window.width ? x : window.width / 2);
    },
    zoomToSelection() {
      const row = store.draft ?? store.get(store.selection.kind ?? "event", store.selection.ids[0]);
      if (row && row.start !== undefined) window.show(row.start, row.end, 1);
      else if (store.selectedPerson) actions.zoomToPerson(store.selectedPerson.id);
      else if (store.marked) window.show(...store.marked, 0.2);
      else window.show(...store.shotAt(player.frame), 0.02);
    },
    personByNumber(number) {
      const person = [...store.all("person")].find((one) => one.number === number);
      if (person) actions.personKey(person.id);
      else say(`There is no person ${number}.`);
    },
    splitSelected() {
      if (store.selectedPerson) actions.people.split(store.selectedPerson.id);
      else say("Select a person first: their number key, or a click on them.");
    },
    toggleMasks() {
      if (overlay.masks?.made) overlay.toggle("masks");
      else {
        const offered = store.run && store.video.has_pixels && store.may("perceive");
        const how = offered ? " “Make masks of people”, in the inspector when nothing is selected, makes them." : "";
        say(`There are no masks of people in this video yet.${how}`);
      }
    },
    escape() {
      if (!timeline.pointer.cancel() && !overlay.cancel()) actions.escape();
    },
  };
}

function watch({ store, player, actions, timeline, live, overlay, window }) {
  player.on("error", (sentence) => say(sentence, "error"));
  actions.on("person", (id) => timeline.revealPerson(id));
  player.on("frame", (frame) => {
    overlay.samples?.prepare(frame);
    if (!player.playing) window.reveal(frame, false);
  });
  let gone = 0;
  live.on("others", (edits) => {
    const presence = $("#presence");
    presence.textContent = [...new Set(edits.map((edit) => edit.user))].join(", ");
    presence.title = "edited this video just now";
    presence.hidden = false;
    clearTimeout(gone);
    gone = setTimeout(() => (presence.hidden = true), 8000);
  });
  actions.on("reviewed", () => {
    if (!actions.triage) return;
    $("#triage-next").search = actions.triage === "all" ? "?start=1" : `?start=1&type=${actions.triage}`;
    $("#triage-next").hidden = false;
  });
}

/** A question of the bench, beside the events its proof is made of; its script is fetched only then. */
async function openQuestion(workspace) {
  const bench = await import("../bench/question.js");
  await bench.openQuestion(workspace, workspace.asked.question, workspace.asked);
}

/** Masks may come while the page is open, or with another run; beside a question they are shown from the start. */
function addMasks({ api, store, overlay, live, asked }) {
  const masks = (overlay.masks = new Masks({ api, store, onload: () => overlay.draw() }));
  const offer = () => ($("[data-shows=masks]").hidden = !masks.made);
  offer();
  live.on("reloaded", () => {
    masks.forget();
    offer();
    overlay.draw();
  });
  overlay.toggle("masks", Boolean(asked.question && masks.made));
}

async function addRun({ store, player, timeline, overlay, actions, inspector, times }, asked) {
  let buffer;
  try {
    buffer = await asked;
  } catch (error) {
    say(`The run's summary could not be fetched: ${error.message} Events can be edited without it.`, "error");
    return;
  }
  const ribbon = new Ribbon(buffer);
  timeline.ribbon = ribbon;
  ribbon.prepare(store);
  overlay.samples = actions.gaze.samples = new Samples({
    url: page.tracks,
    blockRows: ribbon.block_rows,
    times,
    run: store.run,
    onload: () => overlay.draw(),
  });
  timeline.changed();
  inspector.redraw();
  overlay.samples.prepare(player.frame);
}

/** What this person did to the video before can be taken back, too. */
async function recallUndo({ api, undo, store, toolbar }) {
  try {
    undo.recall(await api.get(`/videos/${page.video}/undoable`), store);
    toolbar.drawUndo();
  } catch (error) {
    console.warn("What was done before could not be fetched; undo begins with this page.", error);
  }
}

async function addSound({ timeline }) {
  try {
    const pairs = new Int8Array(await bytesOf(page.waveform));
    const least = new Int8Array(pairs.length / 2);
    const most = new Int8Array(pairs.length / 2);
    for (let i = 0; i < least.length; i++) {
      least[i] = pairs[2 * i];
      most[i] = pairs[2 * i + 1];
    }
    timeline.waveform = { least, most, rate: WAVE_RATE };
    timeline.changed();
  } catch (error) {
    console.warn("The loudness curve could not be fetched.", error);
  }
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
    h("h2", { text: "The workspace could not be opened" }),
    h("p", { text: error.message }),
    h("p", {
      text: "Edits that were not saved yet are kept on this computer and saved when the workspace opens again.",
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
