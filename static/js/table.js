/** Lists driven by keys: j and k move, Enter opens, x selects, / searches; a selection shows its count and actions. */

/** True while keys belong to a text field or an open dialog. */
export function typing(target) {
  const fields = "input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable], dialog[open]";
  return Boolean(target.closest?.(fields));
}

const rows = () => [...document.querySelectorAll("[data-row]")];

function move(step) {
  const all = rows();
  if (all.length === 0) return;
  const at = all.indexOf(document.activeElement?.closest?.("[data-row]"));
  const next = all[at === -1 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next.focus();
  next.scrollIntoView({ block: "nearest" });
}

function showSelection() {
  const bar = document.querySelector("[data-selection]");
  if (!bar) return;
  const boxes = [...document.querySelectorAll("[data-select]")];
  const count = boxes.filter((box) => box.checked).length;
  bar.hidden = count === 0;
  bar.querySelector("[data-count]").textContent = `${count} selected`;
  for (const box of boxes) box.closest("[data-row]").toggleAttribute("data-selected", box.checked);
  const all = document.querySelector("[data-select-all]");
  if (all) {
    all.checked = count > 0 && count === boxes.length;
    all.indeterminate = count > 0 && count < boxes.length;
  }
}

function select(change) {
  for (const box of document.querySelectorAll("[data-select]")) box.checked = change;
  showSelection();
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.key === "Escape" && event.target.matches?.("[data-search]")) event.target.blur();
  if (typing(event.target) || !document.querySelector("[data-list]")) return;
  const row = event.target.closest?.("[data-row]");
  if (event.key === "/") {
    const field = document.querySelector("[data-search]");
    if (!field) return;
    field.focus();
    field.select();
  } else if (event.key === "j") move(1);
  else if (event.key === "k") move(-1);
  else if (event.key === "Enter" && event.target === row) row.querySelector("[data-open]")?.click();
  else if (event.key === "x" && row) {
    const box = row.querySelector("[data-select]");
    if (!box) return;
    box.checked = !box.checked;
    showSelection();
  } else if (event.key === "Escape" && document.querySelector("[data-selection]:not([hidden])")) select(false);
  else return;
  event.preventDefault();
}

/** Empty filters stay out of the address. */
function shorten(event) {
  if (event.detail.verb !== "get") return;
  const given = event.detail.formData;
  for (const name of [...given.keys()]) if (given.get(name) === "") given.delete(name);
}

// A list that is asked for again keeps its selection and the row the keys are on
const nameOf = (row) => row?.dataset.video ?? row?.dataset.question ?? row?.dataset.jobRow;
let kept = { selected: new Set(), row: undefined };

function keep(event) {
  const again = event.detail.requestConfig?.verb === "get";
  const boxes = again ? [...document.querySelectorAll("[data-select]:checked")] : [];
  kept = { selected: new Set(boxes.map((box) => box.value)), row: nameOf(document.activeElement?.closest?.("[data-row]")) };
}

function restore() {
  for (const box of document.querySelectorAll("[data-select]")) box.checked = kept.selected.has(box.value);
  if (kept.row) rows().find((row) => nameOf(row) === kept.row)?.focus({ preventScroll: true });
  showSelection();
}

export function setUpTables() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-select]")) showSelection();
    if (event.target.matches("[data-select-all]")) select(event.target.checked);
  });
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-clear-selection]")) select(false);
  });
  document.addEventListener("htmx:configRequest", shorten);
  document.addEventListener("htmx:beforeSwap", keep);
  document.addEventListener("htmx:afterSwap", restore);
  showSelection();
}
