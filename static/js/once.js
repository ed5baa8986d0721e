/** A form is sent once: what is sent again before its answer has come is dropped, be it a page's form or one of htmx. */

const PATIENCE_MS = 10_000; // then the answer is taken for lost

const timers = new WeakMap(); // form -> when patience with its answer ends

function setSent(form, sent) {
  clearTimeout(timers.get(form));
  if (!sent) return void delete form.dataset.sent;
  form.dataset.sent = "";
  return void timers.set(
    form,
    setTimeout(() => setSent(form, false), PATIENCE_MS),
  );
}

/** Whether the form may be sent now; from then on it may not. */
function take(form) {
  if (form.dataset.sent !== undefined) return false;
  setSent(form, true);
  return true;
}

document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || form.hasAttribute("hx-post") || event.defaultPrevented) return;
  if (!take(form)) event.preventDefault();
});
document.addEventListener("htmx:beforeRequest", (event) => {
  const form = event.detail.elt;
  if (form.matches("form[hx-post]") && !take(form)) event.preventDefault();
});
document.addEventListener("htmx:afterRequest", (event) => setSent(event.detail.elt, false));
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) setSent(form, false);
});
