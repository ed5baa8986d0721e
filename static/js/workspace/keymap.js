// The keys, as data. `keys`: the defaults, of which the first is shown; a person's own key replaces them all.
// Keys are named by what they print ("M", ",", "[") with Ctrl+, Alt+, Shift+ before; digits and named keys as they are.

import { TYPES } from "./vocabulary.js";

const TYPE_KEYS = {
  mutual_gaze: "M",
  joint_attention: "T",
  gaze_following: "F",
  attention_capture: "C",
  sudden_gaze_shift: "S",
  pointing: "P",
  showing: "H",
  giving: "G",
  reaching: "R",
};

/** `w`: the workspace's parts (player, actions, window, store, dialogs, ...). */
export const KEYMAP = [
  { id: "play", group: "Player", label: "Play or pause", keys: ["Space"], run: (w) => w.player.toggle() },
  { id: "back", group: "Player", label: "One frame back", keys: [",", "ArrowLeft"], run: (w) => w.player.step(-1) },
  { id: "forward", group: "Player", label: "One frame on", keys: [".", "ArrowRight"], run: (w) => w.player.step(1) },
  { id: "back10", group: "Player", label: "Ten frames back", keys: ["Shift+,"], run: (w) => w.player.step(-10) },
  { id: "forward10", group: "Player", label: "Ten frames on", keys: ["Shift+."], run: (w) => w.player.step(10) },
  { id: "reverse", group: "Player", label: "Backwards; again: faster", keys: ["J"], run: (w) => w.player.shuttle(-1) },
  { id: "stop", group: "Player", label: "Stop", keys: ["K"], run: (w) => w.player.pause() },
  { id: "faster", group: "Player", label: "Forwards; again: faster", keys: ["L"], run: (w) => w.player.shuttle(1) },
  { id: "first", group: "Player", label: "First frame", keys: ["Home"], run: (w) => w.player.seek(0) },
  { id: "last", group: "Player", label: "Last frame", keys: ["End"], run: (w) => w.player.seek(Infinity) },
  { id: "loop", group: "Player", label: "Loop over the selection", keys: ["U"], run: (w) => w.actions.setLooping(!w.actions.looping) },

  { id: "next", group: "Review", label: "Next unreviewed event", keys: ["N"], run: (w) => w.actions.nextUnreviewed() },
  { id: "confirm", group: "Review", label: "Confirm; save a new event", keys: ["Enter"], run: (w) => w.actions.setStatus("confirmed") },
  { id: "reject", group: "Review", label: "Reject", keys: ["Backspace"], run: (w) => w.actions.setStatus("rejected") },
  { id: "delete", group: "Review", label: "Delete (a proposal is rejected)", keys: ["Delete"], run: (w) => w.actions.remove() },
  { id: "previousEvent", group: "Review", label: "Previous event", keys: ["["], run: (w) => w.actions.neighbour(-1) },
  { id: "nextEvent", group: "Review", label: "Next event", keys: ["]"], run: (w) => w.actions.neighbour(1) },
  { id: "triage", group: "Review", label: "Triage: least certain first, looped", keys: ["Shift+N"], run: (w) => w.actions.setTriage(w.actions.triage ? null : "all") },

  { id: "in", group: "Span", label: "In: first frame is here", keys: ["I"], run: (w) => w.actions.mark("in") },
  { id: "out", group: "Span", label: "Out: last frame is here", keys: ["O"], run: (w) => w.actions.mark("out") },
  { id: "startEarlier", group: "Span", label: "Start one frame earlier", keys: ["Ctrl+ArrowLeft"], run: (w) => w.actions.nudge("start", -1) },
  { id: "startLater", group: "Span", label: "Start one frame later", keys: ["Ctrl+ArrowRight"], run: (w) => w.actions.nudge("start", 1) },
  { id: "endEarlier", group: "Span", label: "End one frame earlier", keys: ["Shift+ArrowLeft"], run: (w) => w.actions.nudge("end", -1) },
  { id: "endLater", group: "Span", label: "End one frame later", keys: ["Shift+ArrowRight"], run: (w) => w.actions.nudge("end", 1) },
  { id: "coverGaze", group: "Span", label: "Marked span: all gaze events are marked", keys: ["V"], run: (w) => w.actions.cover("gaze") },
  { id: "coverGesture", group: "Span", label: "Marked span: all gestures are marked", keys: ["Shift+V"], run: (w) => w.actions.cover("gesture") },

  ...Object.entries(TYPE_KEYS).map(([type, key]) => ({
    id: `type.${type}`,
    group: "Type of event",
    label: `${TYPES[type].word}: change the selected, or a new one`,
    keys: [key],
    run: (w) => w.actions.typeKey(type),
  })),
  ...Object.entries(TYPE_KEYS).map(([type, key]) => ({
    id: `new.${type}`,
    group: "Type of event",
    label: `New ${TYPES[type].word.toLowerCase()} in any case`,
    keys: [`Shift+${key}`],
    minor: true,
    run: (w) => w.actions.typeKey(type, true),
  })),

  ...Array.from({ length: 10 }, (_, n) => ({
    id: `person.${n}`,
    group: "People",
    label: `Person ${n}: into or out of the event, or select`,
    keys: [String(n)],
    minor: n > 1,
    run: (w) => w.personByNumber(n),
  })),
  { id: "who", group: "People", label: "Any person, by number or name", keys: ["W"], run: (w) => w.dialogs.people() },
  { id: "role", group: "People", label: "Next role (two people swap)", keys: ["E"], run: (w) => w.actions.nextRole() },
  { id: "participant", group: "People", label: "Next participant for the role key", keys: ["Shift+E"], run: (w) => w.actions.nextParticipant() },
  { id: "gaze", group: "People", label: "Say where the selected person looks", keys: ["A"], run: (w) => w.dialogs.gaze() },
  { id: "split", group: "People", label: "Selected person: somebody else from here on", keys: ["X"], run: (w) => w.splitSelected() },

  { id: "undo", group: "Page", label: "Undo", keys: ["Ctrl+Z"], run: (w) => w.actions.undoLast() },
  { id: "redo", group: "Page", label: "Redo", keys: ["Ctrl+Shift+Z", "Ctrl+Y"], run: (w) => w.actions.redoLast() },
  { id: "search", group: "Page", label: "Go to a frame, a time, a person", keys: ["/"], run: (w) => w.dialogs.go() },
  { id: "zoomIn", group: "Page", label: "Zoom in at the playhead", keys: ["=", "+"], run: (w) => w.zoom(1.5) },
  { id: "zoomOut", group: "Page", label: "Zoom out", keys: ["-"], run: (w) => w.zoom(1 / 1.5) },
  { id: "zoomSelection", group: "Page", label: "Zoom to the selection", keys: ["Z"], run: (w) => w.zoomToSelection() },
  { id: "fit", group: "Page", label: "Show the whole video", keys: ["\\", "Shift+Z"], run: (w) => w.window.show(0, w.store.times.frames) },
  { id: "rejected", group: "Page", label: "Show or hide rejected events", keys: ["Y"], run: (w) => w.store.setFilters({ rejected: !w.store.filters.rejected }) },
  { id: "inspector", group: "Page", label: "Show or hide the inspector", keys: ["D"], run: (w) => w.panels.toggleInspector() },
  { id: "escape", group: "Page", label: "Let go: drag, draft, selection, span", keys: ["Escape"], fixed: true, run: (w) => w.escape() },
  { id: "help", group: "Page", label: "This map", keys: ["?"], fixed: true, run: (w) => w.help.open() },
];
