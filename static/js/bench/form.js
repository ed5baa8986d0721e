/** The form of a question: people and moments are inserted at the caret and shown as they will be printed. */

const form = document.querySelector("#question-form");
const clock = JSON.parse(document.getElementById("clock-data").textContent); // frame -> seconds, of frames in the text
const frames = Number(form.dataset.frames);
const MOST = 26;

// ---- Slots ----

const SLOT = /\{\{|\}\}|\{([^{}]*)\}|[{}]/g;

/** What a reader will see, as nodes: slots stand out, and a wrong one says so. */
function preview(text) {
  const known = new Set([...document.querySelectorAll("[data-slot]")].map((one) => one.dataset.slot.toLowerCase()));
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(SLOT)) {
    parts.push(text.slice(at, match.index));
    at = match.index + match[0].length;
    if (match[0] === "{{" || match[0] === "}}") parts.push(match[0][0]);
    else parts.push(slot(match, known));
  }
  parts.push(text.slice(at));
  return parts;
}

function slot([whole, words = ""], known) {
  const mark = document.createElement("span");
  mark.className = "slot-read";
  const frame = /^frame\s+(\d+)$/i.exec(words.trim());
  if (frame && Number(frame[1]) <= frames) {
    const seconds = clock[frame[1]];
    mark.textContent = seconds === undefined ? `the time of frame ${frame[1]}` : `${seconds.toFixed(1)} s`;
  } else if (known.has(`{${words.trim().replace(/\s+/g, " ").toLowerCase()}}`)) mark.textContent = words.trim();
  else {
    mark.className = "field-error";
    mark.textContent = `${whole} is nobody here`;
  }
  return mark;
}

function drawPreview() {
  for (const box of document.querySelectorAll("[data-preview-of]")) {
    const text = document.getElementById(box.dataset.previewOf).value;
    box.hidden = !/[{}]/.test(text);
    box.replaceChildren(...preview(text));
  }
}

/** Where the last caret was: a slot goes there. */
let place = document.getElementById("id_text");
form.addEventListener("focusin", (event) => {
  if (event.target.matches("textarea, input[name^=option-]:not([type=hidden])")) place = event.target;
});

function insert(words) {
  place.focus();
  place.setRangeText(words, place.selectionStart, place.selectionEnd, "end");
  place.dispatchEvent(new Event("input", { bubbles: true }));
}

document.addEventListener("click", (event) => {
  const person = event.target.closest("[data-slot]");
  if (person) insert(person.dataset.slot);
  if (event.target.closest("[data-slot-frame]")) {
    const start = document.getElementById("id_start").value || "0";
    insert(`{frame ${start}}`);
    place.setSelectionRange(place.selectionEnd - 1 - start.length, place.selectionEnd - 1);
  }
});
form.addEventListener("input", drawPreview);

// ---- Options ----

const rows = document.querySelector("#option-rows");

function renumber() {
  [...rows.children].forEach((row, k) => {
    const [right, text, id] = ["[name=right]", "[name^=option-]:not([type=hidden])", "[type=hidden]"].map((one) =>
      row.querySelector(one),
    );
    right.value = String(k);
    right.setAttribute("aria-label", `Option ${k + 1} is right`);
    text.name = `option-${k}`;
    text.setAttribute("aria-label", `Option ${k + 1}`);
    id.name = `option-id-${k}`;
    row.querySelector(".option-letter").textContent = String(k + 1);
    row.querySelector("[data-remove-option]").setAttribute("aria-label", `Remove option ${k + 1}`);
  });
  document.querySelector("#add-option").disabled = rows.children.length >= MOST;
}

document.querySelector("#add-option").addEventListener("click", () => {
  const row = rows.lastElementChild.cloneNode(true);
  for (const field of row.querySelectorAll("input")) {
    if (field.type === "checkbox") field.checked = false;
    else field.value = "";
  }
  row.querySelector(".field-error")?.remove();
  rows.append(row);
  renumber();
  row.querySelector("[name^=option-]:not([type=hidden])").focus();
});

rows.addEventListener("click", (event) => {
  const button = event.target.closest("[data-remove-option]");
  if (!button || rows.children.length <= 2) return;
  button.closest(".option-row").remove();
  renumber();
});

// ---- What fits the kind ----

const kind = document.getElementById("id_kind");

function fit() {
  for (const part of document.querySelectorAll("[data-for-kinds]"))
    part.hidden = !part.dataset.forKinds.split(" ").includes(kind.value);
  const type = kind.value === "multiple" ? "checkbox" : "radio";
  for (const mark of rows.querySelectorAll("[name=right]")) {
    const { checked } = mark;
    mark.type = type;
    mark.checked = checked;
  }
}

kind.addEventListener("change", fit);
fit();
drawPreview();
