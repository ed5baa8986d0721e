/** Theme choice: shown at once, remembered in the profile. */

import { send } from "./http.js";

const root = document.documentElement;

function mark() {
  for (const button of document.querySelectorAll("[data-theme-choice] button")) {
    button.setAttribute("aria-pressed", String(button.dataset.value === root.dataset.theme));
  }
}

async function choose(theme) {
  root.dataset.theme = theme;
  mark();
  document.dispatchEvent(new CustomEvent("themechange", { detail: theme }));
  await send("PATCH", "/api/v1/me/preferences", { theme });
}

export function setUpTheme(report) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-theme-choice] button");
    if (button) choose(button.dataset.value).catch(report);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    document.dispatchEvent(new CustomEvent("themechange", { detail: root.dataset.theme }));
  });
  mark();
}
