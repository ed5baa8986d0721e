/** The end of a run's log, as it grows. */

import { send } from "../http.js";

export class Log {
  /** @param {HTMLElement} box @param {string} address of the run */
  constructor(box, address) {
    Object.assign(this, { box, address, at: 0, asking: false });
  }

  async renew() {
    const { box } = this;
    if (!box || this.asking || !box.closest("details").open) return;
    this.asking = true;
    try {
      const { text, at } = await send("GET", `${this.address}/log?after=${this.at}`);
      const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 4;
      if (at < this.at || this.at === 0) box.textContent = text; // it began anew
      else if (text) box.append(text);
      this.at = at;
      if (!box.textContent) box.textContent = "Nothing was logged yet.";
      if (atEnd) box.scrollTop = box.scrollHeight;
    } finally {
      this.asking = false;
    }
  }
}
