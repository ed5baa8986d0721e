/** Curves of several runs over each other. */

import { Charts, colourOf } from "./charts.js";
import { Metrics } from "./metrics.js";
import { restOf, specsOf, WATCH } from "./specs.js";

const told = document.querySelector("#curves");
const root = document.querySelector("#charts");

if (told && root) {
  const sources = JSON.parse(told.textContent).map(({ number, columns }, place) => {
    const metrics = new Metrics("");
    metrics.join(columns);
    return { label: `run ${number}`, colour: colourOf(place), metrics };
  });
  const names = [...new Set(sources.flatMap(({ metrics }) => metrics.names))].sort();
  const all = () => [
    ...specsOf(names),
    ...WATCH.filter(({ name }) => names.includes(name)),
    ...restOf(names),
  ];
  // a band belongs to one line; of several runs only the lines are drawn
  const charts = new Charts({ root, specs: all, make: (spec) => ({ spec: { ...spec, spread: undefined }, sources }) });
  charts.draw(names);
  document.querySelector("[data-empty-of]").hidden = root.children.length > 0;
  document.querySelector("#compare").dataset.ready = "all";
}
