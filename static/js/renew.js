/** Parts of a page (`data-renew`) asked for again as they are now, without loading the page anew. */

import { typing } from "./table.js";

/** Bring them up to date, unless somebody is in the middle of something there. @returns whether it was done */
export async function renew(selector = "[data-renew]") {
  if (document.querySelector("dialog[open], [data-select]:checked") || typing(document.activeElement)) return false;
  const answer = await fetch(window.location.href, { credentials: "same-origin" });
  if (!answer.ok || answer.redirected) return false;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const part of document.querySelectorAll(selector)) {
    const its = fresh.getElementById(part.id);
    if (!its) continue;
    part.replaceWith(its);
    window.htmx?.process(its);
  }
  return true;
}
