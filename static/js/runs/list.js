/** The list of runs: those that are ticked are compared; the list is asked for again while one of them runs. */

import { renew } from "../renew.js";

const RENEW_MS = 5000;
const page = document.querySelector("[data-list]");

function show() {
  const count = page.querySelectorAll("[data-pick]:checked").length;
  const button = page.querySelector("[data-compare]");
  if (button) button.disabled = count === 0;
}

page.addEventListener("change", (event) => {
  if (event.target.matches("[data-pick]")) show();
});
show();

setInterval(() => {
  const going = page.querySelector(".badge-accent, .badge-warn .icon");
  if (!going || document.hidden || page.querySelector("[data-pick]:checked")) return;
  const on = document.activeElement?.closest?.("[data-run]")?.dataset.run; // the row the keys are on
  renew("#runs-body").then(
    (done) => done && on && page.querySelector(`[data-run="${on}"]`)?.focus({ preventScroll: true }),
    () => {}, // asked for again in a moment
  );
}, RENEW_MS);
