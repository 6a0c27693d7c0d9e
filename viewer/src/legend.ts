// What colours and areas mean.

import type { Category } from "./coloring";
import { classColor, isRepeated, ramp, type Theme } from "./colors";
import type { MapData } from "./data";
import { h, percent, short, shown } from "./dom";
import { term } from "./glossary";
import { linkLegend } from "./links";
import { RADIUS } from "./marks";
import type { Stage } from "./scene";
import type { State } from "./state";

/** Classes that are named; the others are counted. */
export const NAMED = 40;

/** The classes on a level, in their order, and how many are left out: those with the least weight. */
export function legendClasses(data: MapData, stage: Stage): { named: number[]; others: number } {
  const { classes, weights } = stage.level;
  if (!data.classes || !classes) return { named: [], others: 0 };
  const mass = new Float64Array(data.classes.names.length);
  for (let k = 0; k < stage.level.prototypes; k++) {
    for (let i = classes.offsets[k]; i < classes.offsets[k + 1]; i++) mass[classes.of[i]] += weights[k] * classes.share[i];
  }
  const present = Array.from(mass.keys()).filter((of) => mass[of] > 0);
  const named = present.sort((a, b) => mass[b] - mass[a] || a - b).slice(0, NAMED).sort((a, b) => a - b);
  return { named, others: Math.max(0, present.length - NAMED) };
}

/** Words and their colours, and how many are not named: classes on pies, or whatever colours stand for. */
export function legendCategories(data: MapData, stage: Stage, state: State, theme: Theme): { shown: Category[]; others: number } {
  if ((state.color === "class" || state.glyph === "pie") && data.classes) {
    const { names } = data.classes;
    const { named, others } = legendClasses(data, stage);
    return { shown: named.map((of) => ({ name: names[of], color: classColor(data, of, theme), broken: isRepeated(data, of), query: `class=${names[of]}` })), others };
  }
  return { shown: stage.coloring.categories ?? [], others: 0 };
}

/** Round weights, the largest not above the heaviest prototype: one or two of them. */
export function legendWeights(stage: Stage): number[] {
  const heaviest = stage.level.weights[stage.order[0]];
  const lightest = stage.level.weights[stage.order[stage.order.length - 1]];
  const large = roundBelow(heaviest);
  const small = roundBelow(large / 4);
  return small >= lightest ? [small, large] : [large];
}

export function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = [5, 2, 1].find((digit) => digit * power <= value * (1 + 1e-9)) ?? 1;
  return Number((digit * power).toPrecision(1));
}

export function legend(data: MapData, stage: Stage, state: State, theme: Theme, markScale: number, find: (query: string) => void): HTMLElement {
  return h("div", { class: "gm-legend-inside" }, colors(data, stage, state, theme, find), h("div", { class: "gm-legend-sizes" }, state.links && links(data, stage), sizes(stage, state, markScale)));
}

function colors(data: MapData, stage: Stage, state: State, theme: Theme, find: (query: string) => void): HTMLElement {
  const { shown: words, others } = legendCategories(data, stage, state, theme);
  if (words.length) {
    const chip = ({ name, color, broken, query }: Category) => {
      const swatch = h("i", { class: broken ? "gm-swatch gm-broken" : "gm-swatch", style: `background:${color}` });
      if (query === null) return h("span", { class: "gm-chip" }, swatch, short(name, 24));
      const on = state.query === query;
      return h("button", { type: "button", "aria-pressed": String(on), title: `Find ${short(name, 400)}`, click: () => find(on ? "" : query) }, swatch, short(name, 24));
    };
    return h("div", { class: "gm-legend-colors" }, ...words.map(chip), others > 0 && h("span", { class: "gm-note" }, `and ${others} more`));
  }
  const { values, low, high, name, beyond } = stage.coloring;
  if (!values) return h("div", { class: "gm-legend-colors" });
  const stops = Array.from({ length: 9 }, (_, i) => ramp(i / 8)).join(",");
  const mean = /^(column|feature):/.test(state.color) ? "mean " : "";
  return h(
    "div",
    { class: "gm-legend-colors gm-legend-ramp" },
    h("span", {}, mean, mean ? short(name, 30) : term(name, short(name, 30))),
    h("b", {}, `${beyond[0] ? "≤ " : ""}${shown(low)}`),
    h("i", { class: "gm-ramp", style: `background:linear-gradient(90deg,${stops})` }),
    h("b", {}, `${beyond[1] ? "≥ " : ""}${shown(high)}`),
    values.some((value) => !Number.isFinite(value)) && h("span", { class: "gm-chip" }, h("i", { class: "gm-swatch", style: "background:#8a8f99" }), "unknown"),
  );
}

/** What a line stands for. */
function links(data: MapData, stage: Stage): HTMLElement | null {
  const found = linkLegend(data, stage.level);
  return found && h("span", { class: "gm-legend-links" }, h("i", { style: `height:${found.width}px` }), term("link", found.text));
}

/** Marks of round weights as large as they are on the map; those too large for a line are left out. */
function sizes(stage: Stage, state: State, markScale: number): HTMLElement {
  const heaviest = stage.order[0];
  const unit = (stage.layout.side[heaviest] * markScale) / Math.sqrt(stage.level.weights[heaviest]);
  const square = stage.sprites !== null || (state.glyph === "profile" && stage.level.profiles !== null);
  const weights = legendWeights(stage);
  // Zoomed in, marks of these weights may be larger than the line: smaller weights then tell the same.
  while (unit * Math.sqrt(weights[weights.length - 1]) > 44) weights.splice(0, weights.length, roundBelow(weights[weights.length - 1] * 0.99));
  const mark = (weight: number) => {
    const size = unit * Math.sqrt(weight) * (square ? 1 : 2 * RADIUS);
    return h("span", { class: "gm-size" }, h("i", { class: square ? "gm-square" : "gm-round", style: `width:${size.toFixed(1)}px;height:${size.toFixed(1)}px` }), percent(weight));
  };
  return h("span", { class: "gm-legend-weights", title: "Areas are in proportion to weights" }, term("weight"), ...weights.map(mark));
}
