// The panel of an event or of one being made.

import { h, icon, iconButton, moment, once, uuid } from "../dom.js";
import { STATUS_WORDS, TYPES, cycleRole, rolesMissing } from "../vocabulary.js";
import { whySection } from "./why.js";

export function eventPanel(inspector, event) {
  const { store } = inspector;
  const draft = event === store.draft;
  const story = draft ? null : inspector.story(event);
  return [
    head(inspector, event, draft),
    eventButtons(inspector, event, draft),
    inspector.section("Who", whoSection(inspector, event)),
    inspector.section("When", inspector.spanFields(draft ? "draft" : "event", event)),
    !draft &&
      (event.origin === "rule" || story?.details) &&
      inspector.section("Why", ...whySection(inspector, event, story?.details)),
    !draft && story && rulesSection(inspector, event, story.machine),
    !draft && noteSection(inspector, event, story),
    !draft && story && historySection(inspector, story),
    !draft && commentSection(inspector, event, story),
  ];
}

function head(inspector, event, draft) {
  const { store, actions } = inspector;
  const options = Object.entries(TYPES).map(([type, { word }]) =>
    h("option", { value: type, text: word, selected: type === event.type }),
  );
  const select = h(
    "select",
    {
      class: "inspector-type",
      "aria-label": "Type of the event",
      disabled: !store.may("annotate"),
      "data-focus": "type",
      onchange: (change) => {
        change.target.blur();
        if (draft) actions.typeKey(change.target.value);
        else actions.setType(event, change.target.value);
        inspector.redraw();
      },
    },
    options,
  );
  return h("header", { class: "inspector-head" }, icon(event.type), select, pills(inspector, event, draft));
}

function pills(inspector, event, draft) {
  const { store } = inspector;
  const pill = (kind, text, title) => h("span", { class: `pill pill-${kind}`, text, title });
  const percent = `${Math.round(event.confidence * 100)} %`;
  return h(
    "div",
    { class: "pills" },
    draft ? pill("draft", "New") : pill(event.status, STATUS_WORDS[event.status]),
    event.edited && pill("edited", "Edited", "A person changed its span, type or people"),
    event.stale && pill("stale", "Stale", "The machine's view changed since a person looked"),
    store.pendingIds.has(`event:${event.id}`) && pill("pending", "Saving"),
    !draft &&
      h("span", {
        class: "dim",
        title: "Confidence of the rule",
        text: event.origin === "human" ? "made by hand" : percent,
      }),
  );
}

/** What can be said of an event: confirm, reject, reopen, delete; of a draft: save, drop. */
export function eventButtons(inspector, event, draft) {
  const { store, actions } = inspector;
  if (!store.may("annotate")) return null;
  if (draft)
    return h(
      "div",
      { class: "inspector-buttons" },
      inspector.button("Save", "check", () => actions.saveDraft(), {
        class: "button button-small button-primary",
        title: "Save the event (Enter)",
      }),
      inspector.button("Drop", "x", () => store.setDraft(null), { title: "Esc" }),
    );
  return h(
    "div",
    { class: "inspector-buttons" },
    event.status !== "confirmed" &&
      inspector.button("Confirm", "check", () => actions.setStatus("confirmed"), {
        class: "button button-small button-primary",
        title: "Confirm (Enter)",
        "data-focus": "confirm",
      }),
    event.status !== "rejected" &&
      inspector.button("Reject", "x", () => actions.setStatus("rejected"), {
        title: "Reject (Backspace)",
        "data-focus": "reject",
      }),
    event.status !== "proposed" &&
      inspector.button("Reopen", "undo", () => actions.setStatus("proposed"), {
        title: "Back to proposed",
        "data-focus": "reopen",
      }),
    event.origin === "human" &&
      inspector.button("Delete", "trash", () => actions.remove(), { title: "Delete (Del)", "data-focus": "delete" }),
  );
}

// ---- Who ----

function whoSection(inspector, event) {
  const { store, actions } = inspector;
  const participants = actions.participantsOf(event);
  const roles = TYPES[event.type].roles.map(([role]) => role);
  const mayEdit = store.may("annotate");
  const missing = rolesMissing(event.type, participants);
  const rows = participants.map(([person, role]) =>
    h(
      "li",
      { class: store.focusPerson === person ? "who in-focus" : "who" },
      h(
        "button",
        {
          type: "button",
          class: "who-person",
          onclick: () => actions.selectPerson(person),
          title: "Select the person",
        },
        inspector.chip(person),
      ),
      roles.length > 1
        ? roleSelect(inspector, event, participants, person, role, roles)
        : h("span", { class: "dim", text: role }),
      mayEdit && iconButton("x", `Take ${store.personName(person)} out`, () => actions.personKey(person)),
    ),
  );
  return h(
    "div",
    { class: "who-list" },
    h("ul", { class: "plain-list" }, rows),
    missing && h("p", { class: "hint-warn", text: `${missing}.${event === store.draft ? "" : " Not saved yet."}` }),
    mayEdit && addPerson(inspector, event, participants),
  );
}

function roleSelect(inspector, event, participants, person, role, roles) {
  const { store, actions } = inspector;
  return h(
    "select",
    {
      class: "who-role",
      "aria-label": `Role of ${store.personName(person)}`,
      disabled: !store.may("annotate"),
      "data-focus": `role-${person}`,
      onchange: (change) => {
        change.target.blur();
        let after = participants;
        for (let i = 0; i < roles.length; i++) {
          if (after.find(([id]) => id === person)[1] === change.target.value) break;
          after = cycleRole(event.type, after, person);
        }
        actions.setParticipants(event, after);
      },
    },
    roles.map((one) => h("option", { value: one, text: one, selected: one === role })),
  );
}

function addPerson(inspector, event, participants) {
  const { store, actions } = inspector;
  const inside = new Set(participants.map(([id]) => store.rootOf(id)));
  const others = store.people.filter((person) => !inside.has(person.id));
  const here = others.filter((person) => store.isPresent(person.id, event.start, event.end));
  const option = (person) =>
    h("option", { value: person.id, text: `${person.number}  ${store.personName(person.id)}` });
  const rest = others.filter((person) => !here.includes(person));
  return h(
    "select",
    {
      class: "who-add",
      "aria-label": "Add a person",
      "data-focus": "add-person",
      onchange: (change) => {
        change.target.blur();
        actions.personKey(change.target.value);
      },
    },
    h("option", { value: "", text: "Add a person…" }),
    here.map(option),
    rest.length && h("optgroup", { label: "Not seen in this span" }, rest.map(option)),
  );
}

/** Where a person's word and the rules differ: what the rules say now, and a way to take it. */
function rulesSection(inspector, event, machine) {
  const { store, actions } = inspector;
  if (!machine || !(event.edited || event.stale)) return null;
  if (machine.gone) return inspector.section("The rules now", h("p", { text: "They no longer propose this event." }));
  const people = machine.roles.map(([id, role]) => `${store.shortName(id)} ${role}`).join(", ");
  const words = `${TYPES[machine.type].word}, frames ${machine.start} to ${machine.end - 1}: ${people}.`;
  return inspector.section(
    event.stale ? "The rules now say" : "The rules proposed",
    h("p", { text: words }),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Take it", "derive", () => actions.takeProposal(event, machine), {
          "data-focus": "take-rules",
        }),
        event.stale &&
          inspector.button("Keep mine", "check", () => actions.setStatus(event.status), { "data-focus": "keep-mine" }),
      ),
  );
}

// ---- Note, history, comments ----

function noteSection(inspector, event, story) {
  const { store, actions } = inspector;
  const note = event.note ?? story?.note ?? "";
  if (!store.may("annotate") && !note) return null;
  return inspector.section(
    "Note",
    h("textarea", {
      rows: 2,
      class: "note-field",
      "aria-label": "Note",
      value: note,
      disabled: !store.may("annotate"),
      placeholder: "For whoever looks at this next",
      onchange: (change) => actions.setNote({ ...event, note }, change.target.value),
    }),
  );
}

function historySection(inspector, story) {
  if (!story.history?.length) return null;
  const items = story.history
    .slice(0, 30)
    .map((entry) =>
      h(
        "li",
        {},
        h("b", { text: entry.who }),
        ` ${told(inspector, entry)} `,
        h("time", { class: "dim", datetime: entry.when, text: ago(entry.when) }),
        restoreButton(inspector, story, entry),
      ),
    );
  return inspector.section("History", h("ul", { class: "history" }, items));
}

/** Make the event again what it was after this edit; that is an edit like any other, and can be undone. */
function restoreButton(inspector, story, entry) {
  const { store, actions } = inspector;
  if (!entry.row || entry.version === story.version || !store.may("annotate")) return null;
  return h("button", {
    type: "button",
    class: "link",
    text: "Restore",
    title: "Make the event what it was after this edit",
    "aria-label": `Restore the event of version ${entry.version}`,
    "data-focus": `restore-${entry.edit}`,
    onclick: once(() => actions.restore(entry.row)),
  });
}

function told(inspector, entry) {
  const { store } = inspector;
  if (entry.kind === "undo") return "took an edit back";
  const parts = Object.entries(entry.what ?? {}).map(([field, [before, after]]) => {
    if (field === "status")
      return before === null ? `made it ${after}` : after === "proposed" ? "reopened it" : `${after} it`;
    if (field === "start") return `first frame ${before ?? "–"} → ${after ?? "–"}`;
    if (field === "end")
      return `last frame ${before === null ? "–" : before - 1} → ${after === null ? "–" : after - 1}`;
    if (field === "participants")
      return `people ${(after ?? []).map(([id, role]) => `${store.shortName(id)} ${role}`).join(", ")}`;
    if (field === "type") return `type ${TYPES[after]?.word.toLowerCase() ?? "–"}`;
    return `${field} changed`;
  });
  return parts.join(", ") || entry.kind;
}

function commentSection(inspector, event, story) {
  const { store } = inspector;
  const list = (story?.comments ?? []).map((comment) =>
    h(
      "li",
      {},
      h("b", { text: comment.user }),
      " ",
      h("time", { class: "dim", datetime: comment.created, text: ago(comment.created) }),
      h("p", { text: comment.text }),
    ),
  );
  const mayWrite = store.may("annotate");
  if (!list.length && !mayWrite) return null;
  const form = h(
    "form",
    { class: "comment-form", onsubmit: (submit) => sendComment(inspector, event, submit) },
    h("textarea", {
      name: "text",
      rows: 2,
      required: true,
      maxlength: 4000,
      "aria-label": "New comment",
      placeholder: "Comment",
    }),
    h("button", { class: "button button-small", text: "Add" }),
  );
  return inspector.section("Comments", list.length > 0 && h("ul", { class: "comments" }, list), mayWrite && form);
}

async function sendComment(inspector, event, submit) {
  submit.preventDefault();
  const form = submit.target;
  const button = form.querySelector("button");
  form.dataset.id ??= uuid(); // the same remark when it is sent twice
  button.disabled = true;
  try {
    const story = await inspector.api.post(`/events/${event.id}/comments`, {
      id: form.dataset.id,
      text: form.elements.text.value,
    });
    form.elements.text.blur();
    inspector.keepStory(story);
  } catch (error) {
    inspector.actions.say(`The comment was not saved and is still in its field: ${error.message}`, "error");
  } finally {
    button.disabled = false;
  }
}

/** "3 min ago", or the date. */
export function ago(iso) {
  const seconds = (Date.now() - new Date(iso)) / 1000;
  if (seconds < 60) return "just now";
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ago`;
  return moment(iso);
}

// ---- Many ----

export function manyPanel(inspector) {
  const { store, actions } = inspector;
  const events = store.selection.ids.map((id) => store.get("event", id)).filter(Boolean);
  const counts = new Map();
  for (const event of events) counts.set(event.type, (counts.get(event.type) ?? 0) + 1);
  const open = events.filter((event) => event.status === "proposed").length;
  return [
    h("header", { class: "inspector-head" }, icon("layers"), h("h2", { text: `${events.length} events` })),
    store.may("annotate") &&
      h(
        "div",
        { class: "inspector-buttons" },
        inspector.button("Confirm all", "check", () => actions.setStatus("confirmed"), {
          class: "button button-small button-primary",
          "data-focus": "confirm",
        }),
        inspector.button("Reject all", "x", () => actions.setStatus("rejected"), { "data-focus": "reject" }),
      ),
    inspector.section(
      "What",
      h(
        "ul",
        { class: "counts" },
        [...counts].map(([type, count]) =>
          h("li", {}, icon(type, true), h("span", { text: TYPES[type].word }), h("b", { text: String(count) })),
        ),
      ),
      h("p", { class: "dim", text: `${open} of them wait for a word. One Ctrl+Z takes a bulk action back.` }),
    ),
  ];
}
