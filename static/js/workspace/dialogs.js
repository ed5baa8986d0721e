// Small dialogs that open at a key: any person, where somebody looks, where to go.

import { h } from "./dom.js";
import { parseFrame } from "./times.js";

export class Dialogs {
  constructor({ store, actions, player, overlay, palette }) {
    Object.assign(this, { store, actions, player, overlay, palette });
    this.dialog = document.querySelector("#quick");
    this.dialog.addEventListener("click", (event) => {
      if (event.target === this.dialog) this.dialog.close(); // a click beside it
    });
  }

  #open(title, ...children) {
    this.dialog.replaceChildren(h("h2", { text: title }), ...children.filter(Boolean));
    this.dialog.showModal();
  }

  #do(work) {
    this.dialog.close();
    work();
  }

  /** Choose a person by number or name; `take(id)` gets the choice. */
  people(take = (id) => this.actions.personKey(id)) {
    this.#chooser("A person", "Number or name", (words) =>
      this.#peopleLike(words).map((person) => this.#personItem(person, take)),
    );
  }

  /** Go to a frame, a time, or a person's first appearance. */
  go() {
    const { store, player, actions } = this;
    this.#chooser("Go to", "Frame, time such as 1:02.5, or a person", (words) => {
      const frame = parseFrame(words, store.times);
      const people = words ? this.#peopleLike(words).slice(0, 8) : [];
      return [
        frame !== null && {
          label: `Frame ${Math.min(frame, store.times.frames - 1)}, ${store.times.clock(frame)}`,
          run: () => player.seek(frame),
        },
        ...people.map((person) =>
          this.#personItem(person, (id) => {
            actions.selectPerson(id);
            const first = store.trackletsOf(id)[0];
            if (first) player.seek(first.start);
          }),
        ),
      ].filter(Boolean);
    });
  }

  #peopleLike(words) {
    const wanted = words.trim().toLowerCase();
    return this.store.people.filter(
      (person) =>
        !wanted || String(person.number) === wanted || this.store.personName(person.id).toLowerCase().includes(wanted),
    );
  }

  #personItem(person, take) {
    return {
      label: this.store.personName(person.id),
      number: person.number,
      colour: this.palette.ofPerson(person),
      run: () => take(person.id),
    };
  }

  #chooser(title, hint, itemsFor) {
    const list = h("ul", { class: "quick-list", role: "listbox", "aria-label": title });
    let items = [];
    let at = 0;
    const draw = () => {
      list.replaceChildren(
        ...items.map((item, i) =>
          h(
            "li",
            { role: "option", "aria-selected": String(i === at), onclick: () => this.#do(item.run) },
            item.colour &&
              h("span", { class: "chip-number", style: { "--who": item.colour }, text: String(item.number) }),
            h("span", { text: item.label }),
          ),
        ),
      );
      list.children[at]?.scrollIntoView({ block: "nearest" });
    };
    const input = h("input", { type: "text", placeholder: hint, "aria-label": hint, autocomplete: "off" });
    const search = () => {
      items = itemsFor(input.value);
      at = 0;
      draw();
    };
    input.addEventListener("input", search);
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        at = Math.max(0, Math.min(items.length - 1, at + (event.key === "ArrowDown" ? 1 : -1)));
        draw();
        event.preventDefault();
      } else if (event.key === "Enter" && items[at]) {
        event.preventDefault();
        this.#do(items[at].run);
      }
    });
    search();
    this.#open(title, input, list);
    input.focus();
  }

  /** Where the selected person looks, by one more key. */
  gaze() {
    const { store, actions, player } = this;
    const person = store.selectedPerson;
    if (!person) return actions.say("Select the person first: their number key, or a click on them.");
    if (!store.may("annotate")) return actions.say("Your role here is to look.", "error");
    const say = (fields) => () => actions.gaze.correct(person.id, fields);
    const record = this.overlay.samples
      ?.at(player.frame)
      ?.find((one) => store.personOf(one.track, player.frame) === person.id);
    const [x, y] = record?.gaze ?? [null, null];
    const others = store.people.filter(
      (one) => one.id !== person.id && store.isPresent(one.id, player.frame, player.frame + 1),
    );
    const choices = [
      ...others.map((one) => ({
        key: one.number < 10 ? String(one.number) : "",
        label: store.personName(one.id),
        run: say({ kind: "person", target_person: one.id }),
      })),
      {
        key: "w",
        label: "another person…",
        run: () => this.people((id) => actions.gaze.correct(person.id, { kind: "person", target_person: id })),
      },
      x !== null && { key: "o", label: "an object where the gaze was estimated", run: say({ kind: "object", x, y }) },
      { key: "c", label: "the camera", run: say({ kind: "camera" }) },
      { key: "x", label: "off screen", run: say({ kind: "off" }) },
      { key: "u", label: "unusable", run: say({ kind: "unusable" }) },
      { key: "Backspace", label: "as estimated (take the correction back)", run: () => actions.gaze.clear(person.id) },
    ].filter(Boolean);
    const [start, end] = actions.gaze.spanOf(person.id);
    const list = h(
      "ul",
      { class: "quick-list" },
      choices.map((choice) =>
        h(
          "li",
          {},
          h(
            "button",
            { type: "button", onclick: () => this.#do(choice.run) },
            choice.key && h("kbd", { text: choice.key === "Backspace" ? "⌫" : choice.key.toUpperCase() }),
            h("span", { text: choice.label }),
          ),
        ),
      ),
    );
    this.#open(
      `${store.personName(person.id)} looks at`,
      h("p", { class: "dim", text: `Frames ${start} to ${end - 1}` }),
      list,
    );
    this.dialog.onkeydown = (event) => {
      const choice = choices.find((one) => one.key && one.key.toLowerCase() === event.key.toLowerCase());
      if (!choice) return;
      event.preventDefault();
      this.#do(choice.run);
    };
    this.dialog.addEventListener("close", () => (this.dialog.onkeydown = null), { once: true });
  }
}
