/** A person as the reply names them: the printed tag in the person's own colour. */

import { h } from "../workspace/dom.js";

export function chip(store, palette, tag) {
  const person = store.personOf(tag);
  const words = person ? `Person ${tag}: ${person.name}` : `Person ${tag}: nobody in this clip has this tag`;
  const colour = person ? palette.ofPerson(person) : palette.text_dim;
  const kind = person ? "chip-number" : "chip-number chip-nobody";
  return h(
    "span",
    { class: "chip-person", title: words },
    h("span", { class: kind, style: { "--who": colour }, "aria-hidden": "true", text: String(tag) }),
    h("span", { class: "sr-only", text: words }),
  );
}
