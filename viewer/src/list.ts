// All prototypes as text: what the map shows, for those who do not see it, and for those who like tables.

import { purity, type MapData } from "./data";
import { h, percent, short } from "./dom";
import type { Stage } from "./scene";

const PAGE = 200;

export function list(data: MapData, stage: Stage, selected: ReadonlySet<number>, found: ReadonlySet<number> | null, pick: (k: number) => void): HTMLElement {
  const { level } = stage;
  const shown = Array.from(stage.order).filter((k) => !found || found.has(k));
  const row = (k: number) => {
    const of = stage.majority[k];
    return h(
      "tr",
      { "aria-selected": selected.has(k) ? "true" : "false" },
      h("td", {}, h("button", { type: "button", click: () => pick(k) }, `#${k}`)),
      h("td", {}, percent(level.weights[k])),
      h("td", {}, (level.offsets[k + 1] - level.offsets[k]).toLocaleString("en")),
      data.classes && h("td", { title: of === null ? null : short(data.classes.names[of], 400) }, of === null ? "" : short(data.classes.names[of], 24)),
      data.classes && h("td", {}, percent(purity(level, k))),
    );
  };
  const body = h("tbody", {}, ...shown.slice(0, PAGE).map(row));
  const more = h("button", { type: "button", class: "gm-more" }, "Show all");
  more.addEventListener("click", () => {
    body.append(...shown.slice(PAGE).map(row));
    more.remove();
  });
  const head = ["prototype", "weight", "members", ...(data.classes ? ["largest class", "purity"] : [])];
  return h(
    "div",
    { class: "gm-list" },
    h("p", { class: "gm-note" }, `${shown.length.toLocaleString("en")} prototypes, the heaviest first${found ? ", found by the search" : ""}`),
    h("table", { class: "gm-table" }, h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col" }, name)))), body),
    shown.length > PAGE && more,
  );
}
