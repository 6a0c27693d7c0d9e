// All prototypes as text: what the map shows, for those who do not see it, and for those who like tables.

import { purity, type MapData } from "./data";
import { h, percent, short } from "./dom";
import { term } from "./glossary";
import { hasLabels, labelOf } from "./labels";
import { hasLinks, linksOf } from "./links";
import type { Stage } from "./scene";

const PAGE = 200;

export function list(data: MapData, stage: Stage, selected: ReadonlySet<number>, found: ReadonlySet<number> | null, pick: (k: number) => void): HTMLElement {
  const { level } = stage;
  const shown = Array.from(stage.order).filter((k) => !found || found.has(k));
  // A class has a column of its own.
  const labelled = hasLabels(data) && (!data.classes || level.names !== null);
  // Of a graph, links are what there is to know; of other data they are one more thing.
  const linked = data.graph && hasLinks(data);
  const row = (k: number) => {
    const label = labelOf(data, level, k) ?? "";
    const of = stage.majority[k];
    const [strongest] = linked ? linksOf(level, k) : [];
    return h(
      "tr",
      { "aria-selected": selected.has(k) ? "true" : "false" },
      h("td", {}, h("button", { type: "button", click: () => pick(k) }, `#${k}`)),
      labelled && h("td", { class: "gm-breaks", title: short(label, 400) }, short(label, 34)),
      h("td", {}, percent(level.weights[k])),
      h("td", {}, (level.offsets[k + 1] - level.offsets[k]).toLocaleString("en")),
      data.classes && h("td", { class: "gm-breaks", title: of === null ? null : short(data.classes.names[of], 400) }, of === null ? "" : short(data.classes.names[of], 24)),
      data.classes && h("td", {}, percent(purity(level, k))),
      linked && h("td", {}, strongest ? `#${strongest.other}, ${percent(strongest.share)}` : "–"),
    );
  };
  const body = h("tbody", {}, ...shown.slice(0, PAGE).map(row));
  const more = h("button", { type: "button", class: "gm-more" }, "Show all");
  more.addEventListener("click", () => {
    body.append(...shown.slice(PAGE).map(row));
    more.remove();
  });
  const head = ["prototype", ...(labelled ? ["name"] : []), "weight", "members", ...(data.classes ? ["largest class", "purity"] : []), ...(linked ? ["strongest link"] : [])];
  return h(
    "div",
    { class: "gm-list" },
    h("p", { class: "gm-note" }, `${shown.length.toLocaleString("en")} prototypes, the heaviest first${found ? ", found by the search" : ""}`),
    h("table", { class: "gm-table" }, h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, term(name))))), body),
    shown.length > PAGE && more,
  );
}
