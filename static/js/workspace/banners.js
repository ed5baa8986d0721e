// Notices over the workspace: events that may be derived anew, a run that waits to be accepted, and how its job fares.

import { h, icon, moment, once, onceAFrame } from "./dom.js";
import { GESTURE_TYPES, TYPES } from "./vocabulary.js";

const JOBS = {
  derive: "Deriving events",
  accept: "Accepting the run",
  perceive: "Perception",
  gestures: "Looking for gestures",
  masks: "Making masks",
};
const WORDS = { added: "new", changed: "changed", removed: "gone", attached: "joined to an event with a word on it" };

/** Whether an edit may change what the rules find: who is who, or where somebody looks. `moving`: the kinds that may. */
function changesGaze(moving, kind, changes) {
  if (kind !== "undo") return moving.includes(kind);
  const merged = ({ before, after }) => before?.merged_into !== after?.merged_into;
  return changes.some((one) => ["tracklet", "correction"].includes(one.kind) || (one.kind === "person" && merged(one)));
}

export class Banners {
  constructor({ root, store, queue, api, live, actions, player }) {
    Object.assign(this, { root, store, queue, api, live, actions, player });
    this.draw = onceAFrame(() => this.#paint(), root);
    this.touched = 0; // edits on this page since events were derived that may change proposals
    this.jobs = new Map();
    this.asking = new Set(); // requests on their way
    this.watched = new Set(); // jobs whose end is news here: begun on this page, or seen running
    this.dismissed = new Set();
    this.difference = null;
    this.compared = new Map(); // run id -> whether its report was made from the video as it is now
    this.failures = new Map(); // run id -> why accepting it failed
    this.ended = ""; // why this page hears nothing more
    this.dialog = document.querySelector("#report");
    queue.on("saved", ({ record, answer }) => {
      if (record && changesGaze(store.moving, record.kind, answer.changes)) this.touched++;
      this.#edited();
    });
    live.on("others", (edits) => this.#othersEdited(edits));
    live.on("job", (job) => this.#job(job));
    live.on("reloaded", ({ runChanged }) => this.#reloaded(runChanged));
    live.on("ended", (sentence) => {
      this.ended = sentence;
      this.draw();
    });
    actions.on("perceive", () => this.#start("perceive", `/videos/${store.video.id}/perceive`));
    actions.on("masks", () => this.#start("masks", `/videos/${store.video.id}/masks`));
    actions.on("gestures", () => this.#start("gestures", `/videos/${store.video.id}/gestures`));
    this.#adopt(store.derivation);
    this.#compare();
    this.draw();
  }

  /** The video is another one than differences and reports were made from. */
  #edited() {
    if (this.difference) this.difference.current = false;
    for (const id of this.compared.keys()) this.compared.set(id, false);
    this.draw();
  }

  #othersEdited(edits) {
    for (const { kind, changes } of edits) {
      if (kind === "events.derive") this.#derivedAll();
      else if (changesGaze(this.store.moving, kind, changes)) this.store.rederive = true;
    }
    this.#edited();
  }

  /** Events are as the rules find them now. */
  #derivedAll() {
    this.touched = 0;
    this.store.rederive = false;
  }

  /** Ask of every run that waits whether its report still speaks of the video as it is. */
  async #compare() {
    const { revision } = this.store;
    for (const { id } of this.store.layers) {
      try {
        const { report } = await this.api.get(`/runs/${id}`);
        this.compared.set(id, report.current && this.store.revision === revision);
      } catch (error) {
        console.warn("The report of a run could not be fetched.", error);
      }
    }
    this.draw();
  }

  // ---- Jobs ----

  #job(job) {
    const before = this.jobs.get(job.id);
    this.jobs.set(job.id, job);
    if (job.state === "queued" || job.state === "running") {
      this.watched.add(job.id);
      this.failures.delete(job.run);
    } else this.#ended(job);
    if (!before || before.state !== job.state || before.share !== job.share || before.stage !== job.stage) this.draw();
  }

  #ended(job) {
    if (!this.watched.delete(job.id)) return;
    if (job.state === "failed") this.#failed(job);
    if (job.state !== "done") return;
    if (job.kind === "derive") this.#derived(job);
    else if (job.kind === "gestures") this.#gesturesFound();
    else if (job.kind === "masks") this.#masksMade();
    else if (job.kind === "perceive" || job.kind === "accept") this.live.reload();
  }

  async #masksMade() {
    await this.live.reload();
    this.actions.say("Masks of the people are made: Q shows them.");
  }

  async #gesturesFound() {
    await this.live.fetch();
    const open = this.store.ordered.filter((one) => one.status === "proposed" && GESTURE_TYPES.includes(one.type));
    const words = open.length ? `${open.length} gesture${open.length > 1 ? "s" : ""} to review.` : "None is proposed.";
    this.actions.say(`Looked for gestures. ${words}`);
  }

  #failed(job) {
    this.actions.say(`${JOBS[job.kind] ?? job.kind} failed: ${job.error}`, "error");
    if (job.kind !== "accept") return;
    this.failures.set(job.run, job.error);
    this.dismissed.delete(job.run);
    this.live.reload(); // its report was made anew
  }

  #running(kind) {
    return [...this.jobs.values()].find(
      (job) => job.kind === kind && (job.state === "queued" || job.state === "running"),
    );
  }

  async #start(kind, path) {
    if (this.asking.has(path)) return null;
    this.asking.add(path);
    try {
      const { job } = await this.api.post(path);
      this.watched.add(job);
      const known = this.jobs.get(job); // its end may have been told before this answer
      if (known) this.#job(known);
      else this.jobs.set(job, { id: job, kind, state: "queued", stage: "", share: 0 });
      this.draw();
      return job;
    } catch (error) {
      this.actions.say(error.message, "error");
      return null;
    } finally {
      this.asking.delete(path);
    }
  }

  #reloaded(runChanged) {
    if (!runChanged) {
      this.touched = 0; // the bundle says whether any of them counts
      this.#adopt(this.store.derivation);
      this.#compare();
      this.draw();
      return;
    }
    // Another run has other samples: load the page anew, once everything is saved
    const leave = () => {
      if (this.queue.unsaved || this.leaving) return;
      this.leaving = true;
      location.reload();
    };
    this.queue.on("state", leave);
    leave();
  }

  // ---- Deriving events ----

  /** With the preset and the floor that the video's events were last derived with. */
  derive() {
    this.difference = null;
    return this.#start("derive", `/videos/${this.store.video.id}/derive`);
  }

  async #adopt(derivation) {
    if (!derivation) return;
    try {
      this.difference = await this.api.get(`/derivations/${derivation.id}`);
      this.draw();
    } catch (error) {
      console.warn("A derivation could not be fetched.", error);
    }
  }

  async #derived(job) {
    const id = job.result?.derivation ?? (await this.api.get(`/videos/${this.store.video.id}/bundle`)).derivation?.id;
    if (!id) return this.#nothingNew();
    await this.#adopt({ id });
    if (this.difference && !Object.values(this.difference.difference).some((items) => items.length))
      return this.#nothingNew(id);
    return this.draw();
  }

  /** Nothing differs; the server is told that this is settled. */
  async #nothingNew(id = null) {
    this.difference = null;
    try {
      if (id) await this.api.post(`/derivations/${id}/apply`);
      this.#derivedAll();
      this.actions.say("Derived again: the proposals stay as they are.");
    } catch (error) {
      this.actions.say(error.message, "error");
    }
    this.draw();
  }

  async #apply() {
    if (!this.difference) return; // clicked twice
    const { id } = this.difference;
    this.difference = null;
    try {
      await this.api.post(`/derivations/${id}/apply`);
      this.#derivedAll();
      await this.live.fetch();
      this.actions.say("Applied. Everything with a human's word on it stayed.");
    } catch (error) {
      this.actions.say(error.message, "error");
      if (error.status === 409) this.store.rederive = true;
    }
    this.draw();
  }

  #showDifference() {
    const { difference } = this.difference;
    const parts = Object.entries(WORDS).map(([name, words]) => {
      const items = difference[name] ?? [];
      if (!items.length) return null;
      return h(
        "section",
        {},
        h("h3", { text: `${items.length} ${words}` }),
        h(
          "ul",
          { class: "report-list" },
          items.slice(0, 200).map((item) => this.#differenceItem(item)),
        ),
      );
    });
    this.#open("What deriving again would change", parts);
  }

  #differenceItem(item) {
    const id = typeof item === "string" ? item : item.id;
    const known = id ? this.store.get("event", id) : null;
    const row = item.machine ?? (typeof item === "string" ? known : item);
    if (!row) return h("li", { text: "an event that is gone already" });
    const span = `frames ${row.start} to ${row.end - 1}`;
    const people = (row.roles ?? row.participants ?? []).map(([person]) => this.store.shortName(person)).join(" ");
    const go = () => {
      this.dialog.close();
      if (known) this.actions.selectEvent(known.id);
      else this.player.seek(row.start);
    };
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "link", onclick: go },
        icon(row.type ?? known?.type, true),
        h("span", { text: `${TYPES[row.type ?? known.type].word} ${people}, ${span}` }),
      ),
    );
  }

  // ---- Runs that wait ----

  async #lookAt(layer) {
    let run;
    try {
      run = await this.api.get(`/runs/${layer.id}`);
    } catch (error) {
      return this.actions.say(error.message, "error");
    }
    const { conflicts = [], known_persons: known, new_persons: fresh } = run.report;
    const list = conflicts.map((conflict) => {
      const go = () => {
        this.dialog.close();
        if (conflict.kind === "event" && this.store.get("event", conflict.id)) this.actions.selectEvent(conflict.id);
        else if (Number.isInteger(conflict.frame)) this.player.seek(conflict.frame);
      };
      return h("li", {}, h("button", { type: "button", class: "link", onclick: go, text: conflict.sentence }));
    });
    return this.#open(`The ${run.profile} run`, [
      h(
        "section",
        {},
        h("h3", {
          text: conflicts.length ? `${conflicts.length} of your edits no longer fit` : "Every human edit still fits",
        }),
        h("ul", { class: "report-list" }, list),
      ),
      h("p", {
        text: `It sees ${known} known and ${fresh} new people. Nothing made by a person is removed by accepting it.`,
      }),
    ]);
  }

  #open(title, children) {
    this.dialog.querySelector("h2").textContent = title;
    this.dialog.querySelector(".report-body").replaceChildren(...children.filter(Boolean));
    this.dialog.showModal();
  }

  // ---- Drawing ----

  #paint() {
    this.root.replaceChildren(
      ...[
        this.ended && this.#banner("warning", this.ended),
        this.#deriveBanner(),
        this.#runBanner(),
        ...this.store.layers.map((layer) => this.#layerBanner(layer)),
      ].filter(Boolean),
    );
  }

  #banner(iconName, words, ...buttons) {
    return h(
      "div",
      { class: "banner", role: "status" },
      icon(iconName, true),
      h("span", { class: "banner-words", text: words }),
      ...buttons,
    );
  }

  #button(label, work, kind = "") {
    return h("button", { type: "button", class: `button button-small ${kind}`, onclick: once(work), text: label });
  }

  #dismiss(key) {
    return this.#button(
      "Not now",
      () => {
        this.dismissed.add(key);
        this.draw();
      },
      "button-quiet",
    );
  }

  #deriveBanner() {
    const { store } = this;
    if (!store.may("annotate")) return null;
    const job = this.#running("derive");
    if (job)
      return this.#banner(
        "derive",
        `Deriving events${job.stage ? `: ${job.stage}` : ""}, ${Math.round(job.share * 100)} %`,
      );
    if (this.difference && Object.values(this.difference.difference).some((items) => items.length)) {
      const counts = Object.entries(WORDS)
        .map(([name, words]) => [this.difference.difference[name]?.length ?? 0, words])
        .filter(([count]) => count)
        .map(([count, words]) => `${count} ${words}`)
        .join(", ");
      if (!this.difference.current)
        return this.#banner(
          "derive",
          "The video was edited since events were derived.",
          this.#button("Derive again", () => this.derive(), "button-primary"),
        );
      return this.#banner(
        "derive",
        `Derived events: ${counts}.`,
        this.#button("Show", () => this.#showDifference()),
        this.#button("Apply", () => this.#apply(), "button-primary"),
        this.#dismissDifference(),
      );
    }
    const key = `touched ${this.touched}`;
    if (!(this.touched || store.rederive) || !store.run || this.dismissed.has(key)) return null;
    const count = this.touched && !store.rederive ? `${this.touched} edit${this.touched > 1 ? "s" : ""}` : "Edits";
    const words = `${count} to people or gaze may change the proposed events.`;
    return this.#banner(
      "derive",
      words,
      this.#button("Re-derive events", () => this.derive(), "button-primary"),
      this.#dismiss(key),
    );
  }

  #dismissDifference() {
    return this.#button(
      "Not now",
      () => {
        this.difference = null;
        this.draw();
      },
      "button-quiet",
    );
  }

  #runBanner() {
    const job = this.#running("perceive") ?? this.#running("accept") ?? this.#running("gestures") ?? this.#running("masks");
    if (!job) return null;
    const word = JOBS[job.kind];
    return this.#banner(
      "layers",
      job.state === "queued"
        ? `${word} waits for a worker.`
        : `${word}: ${["gestures", "masks"].includes(job.kind) ? "" : `${job.stage || "starting"}, `}${Math.round(job.share * 100)} %`,
    );
  }

  #layerBanner(layer) {
    if (this.dismissed.has(layer.id) || this.#running("accept")) return null;
    const when = moment(layer.created);
    const failed = this.failures.get(layer.id);
    const old = this.compared.get(layer.id) === false;
    const fits = layer.conflicts
      ? `${layer.conflicts} edit${layer.conflicts > 1 ? "s" : ""} no longer fit${layer.conflicts > 1 ? "" : "s"}`
      : "every edit still fits";
    const mayAccept = this.store.may("perceive");
    return this.#banner(
      "layers",
      `The run of ${when} (profile ${layer.profile}) waits to be accepted: ${fits}.` +
        (old ? " The video was edited since they were compared; they are compared again when you accept." : "") +
        (failed ? ` It was not accepted: ${failed}` : ""),
      this.#button("Look", () => this.#lookAt(layer)),
      mayAccept &&
        this.#button("Accept", () => this.#start("accept", `/runs/${layer.id}/accept`), "button-primary"),
      this.#dismiss(layer.id),
    );
  }
}
