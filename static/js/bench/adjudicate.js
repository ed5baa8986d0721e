/** Adjudication: the clip, and keys for the verdicts. The page is a form; this only makes it quick. */

import { typing } from "../table.js";
import { useSprite } from "../workspace/dom.js";
import { ClipPlayer, clipKey, clipUrl } from "./clip.js";

const root = document.querySelector("#judge");
const CLIP_MS = 2000;

function start() {
  const data = JSON.parse(document.getElementById("clip-data").textContent);
  useSprite(data.sprite);
  const clip = new ClipPlayer(root.querySelector("[data-clip]"));
  if (data.clip?.ready) clip.load(clipUrl(data.clip));
  else if (data.error) clip.say(`The clip could not be cut: ${data.error}`, "failed");
  else waitFor(clip, data);
  document.addEventListener("keydown", (event) => onKey(event, clip));
}

/** Ask until the clip is cut. */
function waitFor(clip, data) {
  clip.say("The clip is being cut. You can decide without it.", "cutting", Date.now());
  const look = async () => {
    try {
      const answer = await fetch(data.question, { headers: { Accept: "application/json" } });
      const piece = answer.ok ? (await answer.json()).clip : null;
      if (piece?.ready) return clip.load(clipUrl(piece));
      if (piece?.error) return clip.say(`The clip could not be cut: ${piece.error}`, "failed");
    } catch {
      // the studio is away for now; the next look comes by itself
    }
    return setTimeout(look, CLIP_MS);
  };
  setTimeout(look, CLIP_MS);
}

function onKey(event, clip) {
  const reason = document.querySelector("#id_reason");
  if (event.altKey || event.isComposing || event.repeat || document.querySelector("dialog[open]")) return;
  if (event.target === reason) {
    if (event.key === "Escape") reason.blur();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) decide("a", event);
    return;
  }
  if (event.ctrlKey || event.metaKey || typing(event.target)) return;
  if (event.key === " " && event.target.closest?.("button, a, summary")) return;
  if (clipKey(clip, event.key)) return void event.preventDefault();
  if (event.key === "/") {
    event.preventDefault();
    return void reason.focus();
  }
  const link = document.querySelector(`[data-key-link="${CSS.escape(event.key.toLowerCase())}"]`);
  if (link) return void link.click();
  decide(event.key.toLowerCase(), event);
}

/** A verdict without a reason leads to the field of the reason. */
function decide(key, event) {
  const button = document.querySelector(`#verdict [data-key="${CSS.escape(key)}"]`);
  if (!button) return;
  event.preventDefault();
  button.form.requestSubmit(button);
  if (!document.querySelector("#id_reason").value.trim()) document.querySelector("#id_reason").focus();
}

if (root) start();
