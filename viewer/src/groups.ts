// The tab of groups: prototypes against their features or classes as a heat map, and what two selections differ by.

import { mixed, type Theme } from "./colors";
import { csvTable, tabbed } from "./csv";
import type { MapData } from "./data";
import { copy, count, download, h, percent, short, shown } from "./dom";
import { GLOSSARY } from "./glossary";
import { labelOf } from "./labels";
import { FONT } from "./placing";
import type { Stage } from "./scene";
import { canvas } from "./sprites";
import { meanOver, score, similarOrder, traitKinds, traitsOf, type Trait, type TraitKind } from "./traits";

const WIDTH = 332;
const NAMES = 104;
/** Columns that can still be read, rows that have names, and differences that are listed. */
const COLUMNS = 16;
const NAMED = 60;
const DIFFERENCES = 14;
/** Of two ends, below and above the mean: apart for colour-blind eyes, and of one lightness. */
const [BELOW, ABOVE] = ["#2f6fb7", "#c2571a"];

export interface GroupsContext {
  data: MapData;
  stage: Stage;
  theme: Theme;
  selected: number[];
  kept: number[];
  kind: TraitKind | null;
  /** Shows another kind of table. */
  turn(kind: TraitKind): void;
  select(prototypes: number[]): void;
  keep(prototypes: number[]): void;
  announce(text: string): void;
}

export function groups(context: GroupsContext): HTMLElement {
  const { data, stage } = context;
  const kinds = traitKinds(data);
  if (!kinds.length) {
    return h("div", { class: "gm-empty" }, h("p", {}, "Groups are compared by features, columns or classes, and this map has none of them."));
  }
  const kind = context.kind && kinds.includes(context.kind) ? context.kind : kinds[0];
  const traits = traitsOf(data, stage.level, kind);
  const name = (kind: TraitKind) => (kind === "classes" ? "Classes" : data.telling ? "Features" : "Columns");
  const buttons = kinds.map((one) => h("button", { type: "button", "aria-pressed": String(one === kind), click: () => context.turn(one) }, name(one)));
  return h(
    "div",
    { class: "gm-groups" },
    kinds.length > 1 && h("div", { class: "gm-segments", role: "group", "aria-label": "Compare by" }, ...buttons),
    difference(context, traits, kind),
    h("h2", { class: "gm-small" }, `Prototypes by ${name(kind).toLowerCase()}`),
    heatMap(context, traits, kind),
  );
}

const told = (kind: TraitKind, value: number) => (kind === "classes" ? percent(value) : shown(value));

function nameOf({ data, stage }: GroupsContext, k: number): string {
  const label = labelOf(data, stage.level, k);
  return label === null ? `#${k}` : `#${k} ${label}`;
}

/** Copy and download a table. */
function actions(context: GroupsContext, rows: () => (string | number)[][], file: string): HTMLElement {
  const copied = async () => {
    await copy(tabbed(rows()));
    context.announce("Table copied");
  };
  const save = () => download(file, new Blob([csvTable(rows())], { type: "text/csv" }));
  return h("div", { class: "gm-actions" }, h("button", { type: "button", click: copied }, "Copy as table"), h("button", { type: "button", click: save }, "Download CSV"));
}

function heatMap(context: GroupsContext, traits: Trait[], kind: TraitKind): HTMLElement {
  const { stage, data } = context;
  const columns = traits.slice(0, COLUMNS);
  const order = similarOrder(columns, stage.level.prototypes);
  const row = Math.min(15, Math.max(1, Math.round(420 / order.length)));
  const labelled = order.length <= NAMED;
  const left = labelled ? NAMES : 0;
  const column = (WIDTH - left) / Math.max(1, columns.length);
  const element = drawn(context, columns, kind, order, { row: labelled ? Math.max(12, row) : row, left, column });
  const note = h("p", { class: "gm-note", "aria-live": "polite" }, kind === "classes" ? "Rows are prototypes, columns classes; darker is more." : "Orange is above the mean of the map, blue below; prototypes that are alike are neighbours.");
  const at = (event: MouseEvent) => {
    const y = Math.floor((event.offsetY / element.clientHeight) * order.length);
    const x = Math.floor(((event.offsetX / element.clientWidth) * WIDTH - left) / column);
    return { k: order[Math.min(order.length - 1, Math.max(0, y))], trait: columns[Math.min(columns.length - 1, Math.max(0, x))] };
  };
  element.addEventListener("mousemove", (event) => {
    const { k, trait } = at(event);
    if (!trait) return;
    const value = trait.values[k];
    const away = kind === "classes" ? "" : ` (${score(trait, value) >= 0 ? "+" : "−"}${shown(Math.abs(score(trait, value)), 2)} sd)`;
    note.textContent = `${short(nameOf(context, k), 40)}: ${short(trait.name, 40)} ${told(kind, value)}${away}`;
  });
  element.addEventListener("click", (event) => context.select([at(event).k]));
  const heads = h("div", { class: "gm-heads", style: `margin-left:${((100 * left) / WIDTH).toFixed(2)}%` }, ...columns.map(({ name }) => h("span", { title: short(name, 200) }, short(name, 26))));
  const rows = () => [["prototype", "name", "weight", ...traits.map(({ name }) => name)], ...order.map((k) => [k, labelOf(data, stage.level, k) ?? "", stage.level.weights[k], ...traits.map(({ values }) => (Number.isFinite(values[k]) ? values[k] : ""))])];
  const more = traits.length > columns.length && h("p", { class: "gm-note" }, `The ${columns.length} most telling of ${traits.length.toLocaleString("en")}; the table has all.`);
  return h("div", {}, heads, element, note, more, actions(context, rows, "groups.csv"));
}

function drawn({ theme, selected, stage, data }: GroupsContext, columns: Trait[], kind: TraitKind, order: number[], size: { row: number; left: number; column: number }): HTMLCanvasElement {
  const ratio = 2;
  const [element, context] = canvas(WIDTH * ratio, order.length * size.row * ratio);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.font = `10.5px ${FONT}`;
  context.textBaseline = "middle";
  const chosen = new Set(selected);
  order.forEach((k, y) => {
    const top = y * size.row;
    const label = labelOf(data, stage.level, k);
    context.fillStyle = theme.ink;
    if (size.left) context.fillText(fitted(context, label === null ? `#${k}` : `#${k} ${label}`, size.left - 6), 0, top + size.row / 2, size.left - 6);
    columns.forEach((trait, x) => {
      context.fillStyle = shade(trait, trait.values[k], kind, theme);
      context.fillRect(size.left + x * size.column, top, Math.max(1, size.column - (size.column > 6 ? 1 : 0)), size.row > 3 ? size.row - 1 : size.row);
    });
    if (!chosen.has(k)) return;
    context.strokeStyle = theme.ink;
    context.strokeRect(size.left + 0.5, top + 0.5, WIDTH - size.left - 1, Math.max(1, size.row - 1));
  });
  element.className = "gm-heat";
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", `${count(order.length, "prototype")} against ${count(columns.length, "column")}; “Copy as table” has the numbers`);
  return element;
}

/** As much of a text as fits a width. */
function fitted(context: CanvasRenderingContext2D, text: string, width: number): string {
  let shown = short(text, 40);
  while (shown.length > 2 && context.measureText(shown).width > width) shown = `${shown.slice(0, -2)}…`;
  return shown;
}

function shade(trait: Trait, value: number, kind: TraitKind, theme: Theme): string {
  if (!Number.isFinite(value)) return theme.paper;
  if (kind === "classes") return mixed(theme.dark ? "#282c34" : "#f1efe9", theme.dark ? "#f0b48a" : "#8a3a08", Math.sqrt(value));
  const away = Math.max(-1, Math.min(1, score(trait, value) / 2));
  return mixed(theme.dark ? "#23262d" : "#f4f2ec", away > 0 ? ABOVE : BELOW, Math.abs(away) ** 0.8);
}

/** What one set of prototypes differs by from another, or from the rest of the map. */
function difference(context: GroupsContext, traits: Trait[], kind: TraitKind): HTMLElement {
  const { stage, selected, kept } = context;
  const known = (prototypes: number[]) => prototypes.filter((k) => k < stage.level.prototypes);
  const [a, b] = [known(kept), known(selected)];
  const both = a.length > 0 && b.length > 0;
  if (!a.length && !b.length) return h("p", { class: "gm-note" }, "Select prototypes on the map (click, shift and drag, or the lasso) to see what sets them apart.");
  const one = both || !b.length ? a : b;
  const inside = new Set(one);
  const other = both ? b : Array.from({ length: stage.level.prototypes }, (_, k) => k).filter((k) => !inside.has(k));
  const rows = traits
    .map((trait) => {
      const [first, second] = [meanOver(stage.level, trait, one), meanOver(stage.level, trait, other)];
      return { trait, first, second, gap: trait.spread > 0 && Number.isFinite(first - second) ? (first - second) / trait.spread : 0 };
    })
    .sort((x, y) => Math.abs(y.gap) - Math.abs(x.gap));
  const heads = both ? ["A", "B"] : ["selected", "the rest"];
  const keep = !both && b.length > 0 && h("button", { type: "button", title: "Then select other prototypes to compare with", click: () => context.keep(b) }, "Keep as A");
  const forget = a.length > 0 && h("button", { type: "button", click: () => context.keep([]) }, "Forget A");
  const table = () => [["what", ...heads, "difference in sd"], ...rows.map(({ trait, first, second, gap }) => [trait.name, first, second, gap])];
  const head = both ? `A: ${count(a.length, "prototype")}, B: ${count(b.length, "prototype")}` : `${count(one.length, "prototype")} against the rest of the map`;
  return h(
    "section",
    { class: "gm-difference" },
    h("h2", { class: "gm-small" }, "What differs"),
    h("p", { class: "gm-note" }, `${head}, the largest difference first.${a.length && !both ? " Select others to compare with A." : ""}`),
    (keep || forget) && h("div", { class: "gm-actions" }, keep, forget),
    h(
      "table",
      { class: "gm-table" },
      h("thead", {}, h("tr", {}, ...["what", ...heads].map((name) => h("th", { scope: "col" }, name)), h("th", { scope: "col", title: GLOSSARY.sd }, "difference"))),
      h("tbody", {}, ...rows.slice(0, DIFFERENCES).map(({ trait, first, second, gap }) => h("tr", {}, h("td", { class: "gm-breaks" }, short(trait.name, 40)), h("td", {}, told(kind, first)), h("td", {}, told(kind, second)), h("td", {}, `${gap >= 0 ? "+" : "−"}${shown(Math.abs(gap), 2)} sd`)))),
    ),
    actions(context, table, "difference.csv"),
  );
}
