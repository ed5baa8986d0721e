/** One rollout: j and k go to the next and the previous one of the list. */

import { typing } from "../table.js";

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
  document.querySelector(`a[data-step-key="${CSS.escape(event.key)}"]`)?.click();
});
