/** The bar over the picture: what is drawn, and while a mask is corrected its tools. */

import { h, icon, iconButton } from "../workspace/dom.js";
import { laneName } from "./words.js";

export class ToolBar {
  constructor({ root, store, corrector, cache, queue, actions }) {
    Object.assign(this, { root, store, corrector, cache, actions });
    for (const topic of ["focus", "view", "claim"]) store.on(topic, () => this.draw());
    corrector.topics.on("change", () => this.draw());
    cache.on("loaded", () => this.draw());
    queue.on("state", () => this.draw());
    this.draw();
  }

  #button(text, key, work, { pressed, sign, disabled, title } = {}) {
    return h(
      "button",
      {
        type: "button",
        class: "toggle",
        title: `${title ?? text} (${key})`,
        "aria-pressed": pressed === undefined ? undefined : String(pressed),
        disabled,
        data: { focus: text },
        onclick: work,
      },
      sign && icon(sign, true),
      h("span", { text }),
      h("kbd", { text: key }),
    );
  }

  draw() {
    const { root } = this;
    const focus = root.contains(document.activeElement) ? document.activeElement.dataset.focus : null;
    root.replaceChildren(...(this.corrector.on ? this.#correcting() : this.#looking()));
    root.dataset.mode = this.store.mode;
    if (focus) root.querySelector(`[data-focus="${CSS.escape(focus)}"]`)?.focus({ preventScroll: true });
  }

  #looking() {
    const { store, corrector } = this;
    const { shown, claim } = store;
    const negative = claim?.queries.some(({ role }) => role === "negative");
    return [
      this.#button("Masks", "H", () => store.show({ masks: !shown.masks }), { pressed: shown.masks, sign: "overlay" }),
      this.#button("Control", "C", () => store.show({ control: !shown.control, query: null, masks: true }), {
        pressed: shown.control,
        disabled: !negative,
        title: negative ? "The negative control: it should not be found" : "This claim has no negative control",
      }),
      this.#whose(claim),
      h("span", { class: "grow" }),
      store.mayRate &&
        this.#button("Correct", "M", () => corrector.toggle(), { sign: "edit", disabled: !claim?.queries.length }),
    ].filter(Boolean);
  }

  /** Where everybody's corrections are open: whose are shown. */
  #whose(claim) {
    const { store, cache } = this;
    const people = [...new Set((claim?.edits ?? []).map(({ user }) => user).filter((user) => user !== undefined))];
    if (!people.length) return null;
    const choose = (value) => {
      store.whose = value || null;
      for (const one of store.claims) cache.corrected(one);
      store.show({});
    };
    const options = ["", ...people].map((user) =>
      h("option", { value: user, text: user ? `Masks as ${user} has them` : "Masks as found" }),
    );
    const select = h(
      "select",
      { "aria-label": "Whose masks", data: { focus: "whose" }, onchange: (event) => choose(event.target.value) },
      options,
    );
    select.value = store.whose ?? "";
    return select;
  }

  #correcting() {
    const { corrector, store } = this;
    const query = store.query(corrector.query);
    return [
      this.#button("Brush", "B", () => corrector.choose({ tool: "brush" }), { pressed: corrector.tool === "brush" }),
      this.#button("Polygon", "P", () => corrector.choose({ tool: "polygon" }), {
        pressed: corrector.tool === "polygon",
      }),
      this.#button(corrector.adding ? "Add" : "Take away", "X", () => corrector.choose({ adding: !corrector.adding }), {
        sign: corrector.adding ? "plus" : "minus",
        title: "Add or take away; Shift or Alt held turns it round",
      }),
      h(
        "label",
        { class: "brush-size", title: "Size of the brush (- and =)" },
        h("span", { class: "sr-only", text: "Size of the brush" }),
        h("input", {
          type: "range",
          min: 0,
          max: 8,
          step: 1,
          value: String(corrector.size),
          data: { focus: "size" },
          oninput: (event) => corrector.choose({ size: Number(event.target.value) }),
        }),
      ),
      h("span", { class: "tool-rule" }),
      this.#button("Accept", "A", () => corrector.accept(), { sign: "check" }),
      this.#button("Delete", "Del", () => corrector.remove(), { sign: "trash" }),
      this.#button("Carry", "F", () => corrector.carry(), {
        sign: "skip-forward",
        title: "Carry to the frames around, by shape",
      }),
      h("span", { class: "tool-rule" }),
      iconButton("undo", "Undo (Ctrl Z)", () => corrector.undo(), {
        disabled: !corrector.mayUndo,
        data: { focus: "undo" },
      }),
      iconButton("redo", "Redo (Ctrl Y)", () => corrector.redo(), {
        disabled: !corrector.mayRedo,
        data: { focus: "redo" },
      }),
      h("span", { class: "grow" }),
      this.#button(`${query ? laneName(query) : ""} · ${corrector.object}`, "O", () => corrector.nextObject(), {
        title: "Which object is corrected; O takes the next, Shift O a new one",
      }),
      this.#button("Done", "Esc", () => corrector.toggle(false), { sign: "x" }),
    ];
  }
}
