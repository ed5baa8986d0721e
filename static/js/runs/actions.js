/** What an admin does with a run. Each press says which version of the run it saw: an old one changes nothing. */

import { toast } from "../base.js";
import { send } from "../http.js";
import { renew } from "../renew.js";

const SAID = {
  start: "The run waits for its turn.",
  stop: "It stops at the end of this step, with a checkpoint.",
  resume: "It goes on from its last checkpoint.",
  end: "It is being ended.",
  preflight: "It is looked at again.",
};

/**
 * Listen for presses of [data-act] in the page.
 * @param {string} address of the run @param {() => {version: number, job: string|null}} known what the page knows of it
 */
export function setUpActions(address, known) {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-act]");
    if (!button || button.disabled) return;
    press(button, address, known()).catch((error) => toast(error.message, "error"));
  });
}

async function press(button, address, { version, job }) {
  const verb = button.dataset.act;
  const target = verb === "end" ? `/api/v1/jobs/${job}/cancel` : `${address}/${verb}`;
  button.disabled = true;
  button.closest("dialog")?.close();
  try {
    const answer = await send("POST", target, { version });
    if (button.dataset.then) return void window.location.assign(button.dataset.then.replace("{number}", answer.number));
    toast(SAID[verb] ?? "Done.");
    await renew();
  } catch (error) {
    toast(error.message, "error");
    if (error.status === 409) await renew();
  } finally {
    button.disabled = false;
  }
}
