// What colours and areas mean.

import type { Category } from "./coloring";
import { classColor, isRepeated, ramp, type Theme } from "./colors";
import type { MapData } from "./data";
import { h, percent, short, shown } from "./dom";
import { term } from "./glossary";
import { linkLegend } from "./links";
import { areSquare, RADIUS } from "./marks";
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

/** The largest mark that a line of the legend holds, in pixels. */
const LARGEST = 44;

/** Round weights, the largest not above the heaviest prototype, with the width of their marks: one or two of them. Zoomed in, marks
 *  of these weights may be larger than the line: a smaller weight then tells the same. */
export function legendWeights(stage: Stage, square: boolean, markScale: number): { weight: number; size: number }[] {
  const [heaviest, lightest] = [0, stage.order.length - 1].map((at) => stage.level.weights[stage.order[at]]);
  const unit = ((square ? 1 : 2 * RADIUS) * stage.layout.side[stage.order[0]] * markScale) / Math.sqrt(heaviest);
  const mark = (weight: number) => ({ weight, size: unit * Math.sqrt(weight) });
  const large = mark(roundBelow(heaviest));
  const small = mark(roundBelow(large.weight / 4));
  if (large.size <= LARGEST) return small.weight >= lightest ? [small, large] : [large];
  let fitting = large;
  while (fitting.size > LARGEST) fitting = mark(roundBelow(0.99 * fitting.weight));
  return [fitting];
}

function roundBelow(value: number): number {
  const power = 10 ** Math.floor(Math.log10(value));
  const digit = [5, 2, 1].find((digit) => digit * power <= value * (1 + 1e-9)) ?? 1;
  return Number((digit * power).toPrecision(1));
}

export function legend(data: MapData, stage: Stage, state: State, theme: Theme, markScale: number, find: (query: string) => void): HTMLElement {
  const bars = barNames(data, stage, state);
  const left = h("div", { class: "gm-legend-left" }, colors(data, stage, state, theme, find), bars !== null && h("span", { class: "gm-legend-bars", title: "From left to right; up is above the mean of the map, down below it" }, bars));
  return h("div", { class: "gm-legend-inside" }, left, h("div", { class: "gm-legend-sizes" }, sizes(stage, state, markScale), state.links && links(data, stage)));
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
  const stops = Array.from({ length: 9 }, (_, i) => ramp(i / 8, theme)).join(",");
  return h(
    "div",
    { class: "gm-legend-colors gm-legend-ramp" },
    h("span", {}, areMeans(state) ? term(rampName(stage, state)) : term(name, short(name, 30))),
    h("b", {}, `${beyond[0] ? "≤ " : ""}${shown(low)}`),
    h("i", { class: "gm-ramp", style: `background:linear-gradient(90deg,${stops})` }),
    h("b", {}, `${beyond[1] ? "≥ " : ""}${shown(high)}`),
    values.some((value) => !Number.isFinite(value)) && h("span", { class: "gm-chip" }, h("i", { class: "gm-swatch", style: "background:#8a8f99" }), "unknown"),
  );
}

/** Bars that can still be told apart by their order. */
const MOST_BARS = 12;

/** What the bars of profiles are, from left to right, where each is one feature and they are few; otherwise null. */
export function barNames(data: MapData, { level }: Stage, { glyph }: State): string | null {
  const { features } = data;
  if (glyph !== "profile" || !level.profiles || !features || features.length > MOST_BARS || level.profiles.bins !== features.length) return null;
  return `bars: ${features.map((name) => short(name, 20)).join(" · ")}`;
}

/** What the ramp stands for: columns and features are known of samples, and a prototype has their mean. */
export function rampName({ coloring }: Stage, state: State): string {
  return `${areMeans(state) ? "mean " : ""}${short(coloring.name, 30)}`;
}

function areMeans({ color }: State): boolean {
  return /^(column|feature):/.test(color);
}

/** What a line stands for. */
function links(data: MapData, stage: Stage): HTMLElement | null {
  const found = linkLegend(data, stage.level);
  return found && h("span", { class: "gm-legend-links" }, h("i", { style: `height:${found.width}px` }), term("link", found.text));
}

/** Marks of round weights as large as they are on the map. */
function sizes(stage: Stage, state: State, markScale: number): HTMLElement {
  const square = areSquare(stage, state.glyph);
  const shape = ({ weight, size }: { weight: number; size: number }) =>
    h("span", { class: "gm-size" }, h("i", { class: square ? "gm-square" : "gm-round", style: `width:${size.toFixed(1)}px;height:${size.toFixed(1)}px` }), percent(weight));
  return h("span", { class: "gm-legend-weights", title: "Areas are in proportion to weights" }, term("weight"), ...legendWeights(stage, square, markScale).map(shape));
}
