/** The keys of the audit page, as data; see workspace/keymap.js. `w`: the page's parts. */

import { RELEVANCE, VERDICTS } from "./words.js";

const correcting = (work) => (w) => (w.corrector.on ? work(w.corrector, w) : w.say("That is for correcting a mask: M first."));
/** Arrows move the brush while a mask is corrected, else they do what they do without one. */
const arrow = (dx, dy, fine, other) => (w) => (w.corrector.on ? w.corrector.nudge(dx, dy, fine) : other?.(w));

export const AUDIT_KEYMAP = [
  ...Object.entries(VERDICTS).map(([verdict, { word, key }]) => ({
    id: `audit.${verdict}`,
    group: "Verdict",
    label: word,
    keys: [key],
    run: (w) => w.judge.give({ verdict }),
  })),
  ...Object.entries(RELEVANCE).map(([relevance, { word, key }]) => ({
    id: `audit.${relevance}`,
    group: "Verdict",
    label: `Mask: ${word.toLowerCase()}`,
    keys: [key],
    run: (w) => w.judge.give({ relevance }),
  })),
  { id: "audit.reason", group: "Verdict", label: "Write the reason", keys: ["/"], run: (w) => w.reason() },
  { id: "audit.reveal", group: "Verdict", label: "The machine's verdict, after yours", keys: ["Enter"], run: (w) => w.enter() },
  { id: "audit.provenance", group: "Verdict", label: "Where it comes from", keys: ["I"], run: (w) => w.provenance() },
  { id: "audit.complete", group: "Verdict", label: "Complete the response, take the next", keys: ["Shift+Enter"], run: (w) => w.complete() },

  { id: "audit.next", group: "Claims", label: "Next claim", keys: ["]"], run: (w) => w.actions.neighbour(1) },
  { id: "audit.previous", group: "Claims", label: "Previous claim", keys: ["["], run: (w) => w.actions.neighbour(-1) },
  { id: "audit.open", group: "Claims", label: "Next claim without your verdict", keys: ["N"], run: (w) => w.actions.nextOpen() },
  { id: "audit.window", group: "Claims", label: "Go to the claimed time", keys: ["G"], run: (w) => w.actions.toWindow() },
  { id: "audit.reprompt", group: "Claims", label: "Look for another wording", keys: ["R"], run: (w) => w.reprompt.open() },

  { id: "audit.masks", group: "Masks", label: "Show or hide masks", keys: ["H"], run: (w) => w.store.show({ masks: !w.store.shown.masks }) },
  { id: "audit.control", group: "Masks", label: "Show the negative control", keys: ["C"], run: (w) => w.control() },
  { id: "audit.query", group: "Masks", label: "Show one query after another", keys: ["V"], run: (w) => w.nextQuery() },
  { id: "audit.correct", group: "Masks", label: "Correct the mask, or leave that", keys: ["M"], run: (w) => w.corrector.toggle() },

  { id: "audit.brush", group: "Correcting", label: "Brush (Space dabs, arrows move)", keys: ["B"], run: correcting((c) => c.choose({ tool: "brush" })) },
  { id: "audit.polygon", group: "Correcting", label: "Polygon (Space sets a corner, Enter closes)", keys: ["P"], run: correcting((c) => c.choose({ tool: "polygon" })) },
  { id: "audit.adding", group: "Correcting", label: "Add or take away", keys: ["X"], run: correcting((c) => c.choose({ adding: !c.adding })) },
  { id: "audit.larger", group: "Correcting", label: "Larger brush; zoom in", keys: ["=", "+"], run: (w) => (w.corrector.on ? w.corrector.resize(1) : w.zoom(1.5)) },
  { id: "audit.smaller", group: "Correcting", label: "Smaller brush; zoom out", keys: ["-"], run: (w) => (w.corrector.on ? w.corrector.resize(-1) : w.zoom(1 / 1.5)) },
  { id: "audit.object", group: "Correcting", label: "Next object", keys: ["O"], run: correcting((c) => c.nextObject()) },
  { id: "audit.newObject", group: "Correcting", label: "New object", keys: ["Shift+O"], run: correcting((c) => c.newObject()) },
  { id: "audit.accept", group: "Correcting", label: "Accept this frame's mask", keys: ["A"], run: correcting((c) => c.accept()) },
  { id: "audit.delete", group: "Correcting", label: "Delete this frame's mask", keys: ["Delete"], run: correcting((c) => c.remove()) },
  { id: "audit.carry", group: "Correcting", label: "Carry to the frames around, by shape", keys: ["F"], run: correcting((c) => c.carry()) },
  { id: "audit.carryGrounder", group: "Correcting", label: "The same, by the grounder", keys: ["Shift+F"], run: correcting((c, w) => w.carryByGrounder()) },
  { id: "undo", group: "Correcting", label: "Undo", keys: ["Ctrl+Z"], run: (w) => w.corrector.undo() },
  { id: "redo", group: "Correcting", label: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+Y"], run: (w) => w.corrector.redo() },

  { id: "play", group: "Player", label: "Play or pause", keys: ["Space"], run: (w) => (w.corrector.on ? w.corrector.dab() : w.player.toggle()) },
  { id: "back", group: "Player", label: "One frame back", keys: [","], run: (w) => w.player.step(-1) },
  { id: "forward", group: "Player", label: "One frame on", keys: ["."], run: (w) => w.player.step(1) },
  { id: "back10", group: "Player", label: "Looked-at frame before", keys: ["Shift+,"], run: (w) => w.actions.looked(-1) },
  { id: "forward10", group: "Player", label: "Looked-at frame after", keys: ["Shift+."], run: (w) => w.actions.looked(1) },
  { id: "reverse", group: "Player", label: "Backwards; again: faster", keys: ["J"], run: (w) => w.player.shuttle(-1) },
  { id: "stop", group: "Player", label: "Stop", keys: ["K"], run: (w) => w.player.pause() },
  { id: "faster", group: "Player", label: "Forwards; again: faster", keys: ["L"], run: (w) => w.player.shuttle(1) },
  { id: "first", group: "Player", label: "Start of the clip", keys: ["Home"], run: (w) => w.player.seek(w.store.clip.start) },
  { id: "last", group: "Player", label: "End of the clip", keys: ["End"], run: (w) => w.player.seek(w.store.clip.end - 1) },
  { id: "loop", group: "Player", label: "Loop over the claimed span", keys: ["U"], run: (w) => w.actions.setLooping(!w.actions.looping) },
  { id: "zoomSelection", group: "Player", label: "Zoom to the claimed time", keys: ["Z"], run: (w) => w.window.show(...w.actions.around, 0.1) },
  { id: "fit", group: "Player", label: "Show the whole clip", keys: ["\\"], run: (w) => w.window.show(w.store.clip.start, w.store.clip.end, 0.02) },
  { id: "escape", group: "Player", label: "Let go: stroke, correcting, one query", keys: ["Escape"], fixed: true, run: (w) => w.escape() },
  { id: "help", group: "Player", label: "This map", keys: ["?"], fixed: true, run: (w) => w.help.open() },

  // Arrows: the brush while a mask is corrected, else frames and claims
  { id: "audit.left", group: "Player", label: "Brush left", keys: ["ArrowLeft"], minor: true, run: arrow(-1, 0, false, (w) => w.player.step(-1)) },
  { id: "audit.right", group: "Player", label: "Brush right", keys: ["ArrowRight"], minor: true, run: arrow(1, 0, false, (w) => w.player.step(1)) },
  { id: "audit.up", group: "Player", label: "Brush up", keys: ["ArrowUp"], minor: true, run: arrow(0, -1, false, (w) => w.actions.neighbour(-1)) },
  { id: "audit.down", group: "Player", label: "Brush down", keys: ["ArrowDown"], minor: true, run: arrow(0, 1, false, (w) => w.actions.neighbour(1)) },
  { id: "audit.fineLeft", group: "Player", label: "Brush one pixel left", keys: ["Shift+ArrowLeft"], minor: true, run: arrow(-1, 0, true) },
  { id: "audit.fineRight", group: "Player", label: "Brush one pixel right", keys: ["Shift+ArrowRight"], minor: true, run: arrow(1, 0, true) },
  { id: "audit.fineUp", group: "Player", label: "Brush one pixel up", keys: ["Shift+ArrowUp"], minor: true, run: arrow(0, -1, true) },
  { id: "audit.fineDown", group: "Player", label: "Brush one pixel down", keys: ["Shift+ArrowDown"], minor: true, run: arrow(0, 1, true) },
];
