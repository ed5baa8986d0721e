// A question in the workspace: its panel in the inspector while nothing is selected, and its proof on the timeline.
// Loaded only when the address names a question.

import { afterQuiet, h, icon, iconButton, moment } from "../workspace/dom.js";
import { ORIGINS, STATES, VERDICTS, answerWords } from "./words.js";
import { drawProof } from "./proof-marks.js";

const AGAIN_MS = 1500; // after an edit, until its proof may have been run again
const MOST_LOOKS = 8;

export class QuestionGuest {
  #looks = 0;

  /** `workspace`: see workspace/main.js; `id`: of the question. Topics of the store bring it up to date. */
  constructor({ workspace, id, address }) {
    Object.assign(this, workspace);
    this.id = id;
    this.address = address;
    this.question = null;
    this.trouble = "";
    this.runs = []; // that were trained on it
    const again = afterQuiet(AGAIN_MS, () => this.#look());
    this.store.on("rows", () => {
      if (!this.question?.proof) return;
      this.#looks = 0;
      again();
    });
    this.again = again;
  }

  get about() {
    return `question:${this.id}`;
  }

  async open() {
    await this.#fetch();
    if (this.question) this.#fetchRuns();
    this.inspector.guest = this.timeline.guest = this;
    const { question } = this;
    if (question) {
      const [start, end] = this.clip;
      this.actions.home = [start, end];
      this.actions.setLooping(true);
      if (this.address.from === null) this.window.show(start, end, 0.12);
      if (this.address.frame === null && !this.address.sel) this.player.seek(start);
    }
    this.inspector.redraw();
    this.inspector.emit("story", this.id); // the strip under the picture shows it, too
    this.timeline.changed();
  }

  /** [start, end) of what is shown with the question, in source frames. */
  get clip() {
    return [this.question.clip_start, this.question.clip_end];
  }

  async #fetch() {
    try {
      this.question = await this.api.get(`/questions/${this.id}`);
      this.trouble = "";
    } catch (error) {
      this.trouble = error.message;
    }
  }

  /** Which runs saw it: nothing waits for that, and nothing is said where it cannot be told. */
  async #fetchRuns() {
    try {
      this.runs = (await this.api.get(`/questions/${this.id}/runs`)).runs;
    } catch {
      return;
    }
    if (this.runs.length) this.inspector.redraw();
  }

  /** Whether the proof was run again after an edit; a few looks, then no more. */
  async #look() {
    await this.#fetch();
    this.inspector.redraw();
    this.timeline.redrawTop();
    if (this.question?.doubted && this.#looks++ < MOST_LOOKS) this.again();
  }

  draw(pen, timeline) {
    if (this.question) drawProof(pen, timeline, this.question, this.clip);
  }

  // ---- The panel ----

  /** The way back to the question while something else is selected. */
  back() {
    if (!this.question) return null;
    return h(
      "button",
      { type: "button", class: "link question-back", "data-focus": "question", onclick: () => this.store.select(null) },
      icon("left", true),
      h("span", { text: `Question ${this.question.number}` }),
    );
  }

  /** The question in one line, where there is room for no more. */
  line() {
    return this.question ? `Question ${this.question.number}: ${this.question.text}` : this.trouble;
  }

  panel() {
    const { question } = this;
    if (!question) return [h("p", { class: "hint-warn", text: this.trouble || "The question is on its way." })];
    return [
      this.#head(),
      h("p", { class: "question-text", text: question.text }),
      this.#options(),
      this.#keySection(),
      this.#staleSection(),
      this.#proofSection(),
      this.#spanSection(),
      this.#storySection(),
      this.#provenanceSection(),
      this.#runsSection(),
    ];
  }

  #head() {
    const { question } = this;
    const pill = (kind, text, title) => h("span", { class: `pill pill-${kind}`, text, title });
    return h(
      "header",
      { class: "inspector-head" },
      icon("bench"),
      h("h2", { text: `Question ${question.number}` }),
      h(
        "div",
        { class: "pills" },
        pill(question.state === "accepted" ? "confirmed" : question.state, STATES[question.state]),
        question.stale && pill("stale", "Stale", question.stale_why),
        question.free_form && pill("edited", "Free-form", "The key is a person's word, not derived from events"),
        h("span", { class: "dim", text: `${question.category_words}, ${question.difficulty}` }),
      ),
    );
  }

  #options() {
    const { question } = this;
    const known = question.key !== undefined;
    if (!question.options?.length) {
      return known ? h("p", {}, "Key: ", h("b", { text: question.key.join(", ") })) : null;
    }
    const row = ({ id, text }, k) => {
      const right = known && question.key.includes(id);
      return h(
        "li",
        { class: right ? "question-option question-key" : "question-option" },
        h("span", { class: "option-letter", text: String.fromCharCode(65 + k) }),
        h("span", { text }),
        right && icon("check", true),
        right && h("span", { class: "sr-only", text: "(key)" }),
      );
    };
    return h("ol", { class: "question-options", "aria-label": "Options" }, question.options.map(row));
  }

  /** Nobody sees the key by accident: showing it is a step of its own, and it is said what it costs. */
  #keySection() {
    const { question } = this;
    if (question.key !== undefined) return this.#buttons();
    if (!question.may_see_key) {
      const words = "The key is hidden until this question is decided, so that answers stay blind.";
      return h("p", { class: "dim", text: words });
    }
    return h(
      "div",
      { class: "inspector-buttons" },
      this.inspector.button("Show the key", "eye", () => this.#reveal(), {
        "data-focus": "reveal",
        title: "You will not be asked to answer this question then",
      }),
      h("p", { class: "dim", text: "You will not be asked to answer this question then." }),
    );
  }

  async #reveal() {
    try {
      this.question = await this.api.post(`/questions/${this.id}/reveal`);
    } catch (error) {
      this.actions.say(error.message, "error");
    }
    this.inspector.redraw();
    this.timeline.redrawTop();
  }

  #buttons() {
    const { question } = this;
    const link = (href, name, text, primary = false) =>
      h(
        "a",
        { href, class: primary ? "button button-small button-primary" : "button button-small" },
        icon(name, true),
        h("span", { text }),
      );
    const may = this.store.may("question");
    const slug = this.store.video.project.slug;
    const parts = [
      question.state === "disputed" &&
        question.may_adjudicate &&
        link(`/p/${slug}/bench/adjudicate/?question=${question.id}`, "split", "Adjudicate", true),
      may && link(`/q/${question.id}/edit/`, "edit", "Edit"),
      may &&
        question.state === "draft" &&
        !question.proof &&
        !question.signed_by &&
        this.inspector.button("Sign the key", "check", () => this.#act("sign", "Signed."), { "data-focus": "sign" }),
      may &&
        question.state === "draft" &&
        (question.proof || question.signed_by) &&
        this.inspector.button("Hand to the raters", "team", () => this.#open(), { "data-focus": "open" }),
    ].filter(Boolean);
    return parts.length ? h("div", { class: "inspector-buttons" }, parts) : null;
  }

  async #act(verb, done) {
    try {
      await this.api.post(`/questions/${this.id}/${verb}`, { version: this.question.version });
      this.actions.say(done);
    } catch (error) {
      this.actions.say(error.message, "error");
    }
    await this.#look();
  }

  async #open() {
    const slug = this.store.video.project.slug;
    try {
      const { opened, refused } = await this.api.post(`/projects/${slug}/questions/open`, { ids: [this.id] });
      if (opened.length) this.actions.say("It is handed to the raters.");
      else this.actions.say(refused[0]?.sentence ?? refused[0]?.[1] ?? "It could not be opened.", "error");
    } catch (error) {
      this.actions.say(error.message, "error");
    }
    await this.#look();
  }

  #staleSection() {
    const { question } = this;
    if (!question.stale) return null;
    const words = question.doubted ? "Events changed; its proof is being run again." : question.stale_why;
    return h("p", { class: "hint-warn", text: words || "Its proof does not stand on the events as they are now." });
  }

  #proofSection() {
    const { question, inspector } = this;
    if (question.key === undefined) return null;
    if (!question.proof) {
      const who = `${question.signed_by ?? "Nobody"} gave their word for the key${question.signed_by ? "" : " yet"}.`;
      return inspector.section("Proof", h("p", { text: `There is no proof. ${who}` }));
    }
    return inspector.section(
      "Proof",
      h("p", { class: "proof-line", text: question.sentence }),
      question.marks?.length > 0 &&
        h(
          "ul",
          { class: "proof-events", "aria-label": "Events the proof uses" },
          question.marks.map((mark) => this.#mark(mark)),
        ),
    );
  }

  #mark(mark) {
    const { store, actions } = this;
    const event = store.get("event", mark.id);
    const words = event ? store.describe(event) : "no longer there";
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", class: "link", disabled: !event, onclick: () => actions.selectEvent(mark.id) },
        icon(mark.type, true),
        h("span", { text: words }),
        h("span", { class: "mono dim", text: `${mark.start}–${mark.end - 1}` }),
      ),
    );
  }

  #spanSection() {
    const { question, inspector, store, player } = this;
    const { times } = store;
    const line = (label, [start, end]) =>
      h(
        "div",
        { class: "question-span" },
        h("span", { class: "dim", text: label }),
        h("button", {
          type: "button",
          class: "span-clock mono",
          text: `${times.clock(start)} – ${times.clock(end)}`,
          title: "Go there",
          onclick: () => player.seek(start),
        }),
      );
    return inspector.section(
      "When",
      question.start !== undefined && line("Asked about", [question.start, question.end]),
      line("Clip", this.clip),
      this.clip[0] > 0 && h("p", { class: "dim", text: "Seconds in the question count from the start of its clip." }),
      question.clip && !question.clip.ready
        ? h("p", { class: "dim", text: question.clip.error || "The clip is not cut yet." })
        : null,
    );
  }

  #storySection() {
    const { question, inspector } = this;
    const answers = question.answers ?? [];
    const verdicts = question.adjudications ?? [];
    if (!answers.length && !verdicts.length) return null;
    const rounds = [...new Set([...answers, ...verdicts].map((one) => one.round))].sort((a, b) => a - b);
    const lines = rounds.flatMap((round) => [
      rounds.length > 1 && h("h4", { text: `Round ${round}` }),
      h(
        "ul",
        { class: "history" },
        answers
          .filter((one) => one.round === round)
          .map((one) =>
            h(
              "li",
              {},
              h("b", { text: one.user }),
              ` ${answerWords(question, one)} `,
              one.seconds >= 0.05 && h("span", { class: "dim", text: `in ${one.seconds.toFixed(1)} s` }),
            ),
          ),
        verdicts
          .filter((one) => one.round === round)
          .map((one) =>
            h(
              "li",
              {},
              h("b", { text: one.user }),
              ` ${VERDICTS[one.verdict]}: ${one.reason} `,
              h("time", { class: "dim", datetime: one.created, text: moment(one.created) }),
            ),
          ),
      ),
    ]);
    return inspector.section("Answers and verdicts", ...lines);
  }

  #provenanceSection() {
    const { question, inspector } = this;
    if (question.origin === undefined) return null;
    const facts = [
      ["Made by", ORIGINS[question.origin] ?? question.origin],
      question.template && ["Template", question.template],
      ["Version", String(question.version)],
    ].filter(Boolean);
    return inspector.section(
      "Where it comes from",
      h(
        "dl",
        { class: "facts" },
        facts.map(([name, value]) => h("div", {}, h("dt", { text: name }), h("dd", { text: value }))),
      ),
      question.reasoning &&
        h(
          "details",
          { class: "numbers" },
          h("summary", { text: "Reasoning" }),
          h("p", { class: "reasoning", text: question.reasoning }),
        ),
    );
  }

  #runsSection() {
    if (!this.runs.length) return null;
    const place = document.querySelector(".rail a[href$='/runs/']")?.href;
    const name = (run) => `Run ${run.number}: ${run.name}`;
    return this.inspector.section(
      "Trained on by",
      h(
        "ul",
        { class: "plain-list" },
        this.runs.map((run) => h("li", {}, place ? h("a", { href: `${place}${run.number}/`, text: name(run) }) : name(run))),
      ),
    );
  }
}

/** Open the question that the address names. */
export async function openQuestion(workspace, id, address) {
  const guest = new QuestionGuest({ workspace, id, address });
  await guest.open();
  return guest;
}
