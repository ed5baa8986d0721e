/** The form of a run: what differs from the preset is marked, and only that is sent. */

const form = document.querySelector("#run-form");
const fields = () => [...form.querySelectorAll("[data-preset]")];
const differs = (field) => field.value.trim() !== field.dataset.preset;

function mark() {
  const changed = fields().filter(differs);
  for (const field of fields()) field.closest(".setting").classList.toggle("is-changed", differs(field));
  const count = form.querySelector("#changed-count");
  if (count) count.textContent = changed.length ? `${changed.length} changed` : "Nothing changed";
}

/** Weights of rewards go together: one that differs takes the others with it, as what is sent stands in their place. */
function sentNames() {
  const changed = fields().filter(differs).map(({ name }) => name);
  const weights = "set.rewards.weights.";
  const all = changed.some((name) => name.startsWith(weights));
  return new Set([...changed, ...(all ? fields().map(({ name }) => name).filter((name) => name.startsWith(weights)) : [])]);
}

function strip(data) {
  const keep = sentNames();
  for (const { name } of fields()) if (!keep.has(name)) data.delete(name);
}

if (form) {
  form.addEventListener("input", mark);
  form.addEventListener("formdata", (event) => strip(event.formData));
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-reset]");
    if (!button) return;
    const field = button.closest(".setting").querySelector("[data-preset]");
    field.value = field.dataset.preset;
    field.dispatchEvent(new Event("change", { bubbles: true }));
    mark();
    field.focus();
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const data = event.detail.formData;
    strip(data);
    for (const name of ["csrfmiddlewaretoken", "version", "name", "snapshot", "start"]) data.delete(name);
  });
  document.addEventListener("htmx:afterSwap", () => {
    // another stage may have other presets: what the server offers is in the part it sent
    mark();
  });
  mark();
}
