// What there is to say of one prototype: for the card that follows the pointer, and for the panel.

import { classColor, type Theme } from "./colors";
import { classesOf, idOf, membersOf, purity, type MapData } from "./data";
import { count, h, percent, short, shown } from "./dom";
import { factList, GLOSSARY } from "./glossary";
import { labelOf, proseOf } from "./labels";
import { coordinate } from "./layout";
import type { Stage } from "./scene";
import { canvas, Sprites, thumbnail } from "./sprites";

/** The prototypes nearest on the map, by all its dimensions. */
export function nearest(stage: Stage, k: number, most: number): number[] {
  const { level } = stage;
  const distance = (other: number) => {
    let sum = 0;
    for (let axis = 0; axis < level.dims; axis++) sum += (coordinate(level, k, axis) - coordinate(level, other, axis)) ** 2;
    return sum;
  };
  // Only the few best are kept: sorting thousands for every move of the pointer would be felt.
  const best: [number, number][] = [];
  for (let other = 0; other < level.prototypes; other++) {
    if (other === k) continue;
    const entry: [number, number] = [distance(other), other];
    if (best.length < most || entry[0] < best[best.length - 1][0]) {
      const at = best.findIndex(([value]) => value > entry[0]);
      best.splice(at < 0 ? best.length : at, 0, entry);
      if (best.length > most) best.pop();
    }
  }
  return best.map(([, other]) => other);
}

/** Mean picture and medoid side by side, or nothing without pictures. */
export function portraits(data: MapData, stage: Stage, k: number): HTMLElement | null {
  const { level } = stage;
  if (!data.pictures || !level.means) return null;
  const { meanWidth, meanHeight } = data.pictures;
  const one = { ...level, prototypes: 1, means: level.means.subarray(k * meanWidth * meanHeight * data.pictures.channels) };
  const [mean, context] = canvas(meanWidth, meanHeight);
  new Sprites(data, one, "mean", null).draw(context, 0, 0, 0, meanWidth, meanHeight);
  const medoid = thumbnail(data, membersOf(level, k)[0]);
  const figure = (picture: HTMLCanvasElement, name: string) => h("figure", {}, picture, h("figcaption", {}, name));
  return h("div", { class: "gm-portraits" }, figure(mean, "mean"), medoid && figure(medoid, "most typical"));
}

/** Classes with bars, the largest first. */
export function classBars(data: MapData, stage: Stage, k: number, theme: Theme, most: number): HTMLElement | null {
  if (!data.classes) return null;
  const found = classesOf(stage.level, k);
  const rest = found.slice(most).reduce((sum, entry) => sum + entry.share, 0);
  return h(
    "ul",
    { class: "gm-classes" },
    ...found.slice(0, most).map(({ of, share }) =>
      h(
        "li",
        {},
        h("i", { style: `background:${classColor(data, of, theme)};width:${(100 * share).toFixed(1)}%` }),
        h("span", {}, short(data.classes!.names[of], 60)),
        h("b", {}, percent(share)),
      ),
    ),
    rest > 0 && h("li", { class: "gm-rest" }, h("span", {}, `${found.length - most} more`), h("b", {}, percent(rest))),
  );
}

/** Weight, members, purity, and what its colour stands for. */
function figures(data: MapData, stage: Stage, k: number): [string, string][] {
  const { level } = stage;
  const entries: [string, string][] = [
    ["weight", percent(level.weights[k])],
    ["members", (level.offsets[k + 1] - level.offsets[k]).toLocaleString("en")],
  ];
  if (data.classes) entries.push(["purity", percent(purity(level, k))]);
  if (level.shares) entries.push(["hardness", percent(level.hardness[k])]);
  const { values } = stage.coloring;
  for (const { name, values } of level.numbers) entries.push([short(name, 40), shown(values[k])]);
  if (values && !/^(purity|hardness)$/.test(stage.coloring.name) && !level.numbers.some(({ name }) => name === stage.coloring.name)) {
    entries.push([`mean ${short(stage.coloring.name, 40)}`, shown(values[k])]);
  }
  return entries;
}

/** The same, and its place. */
export function facts(data: MapData, stage: Stage, k: number): HTMLElement {
  const { level } = stage;
  const place = Array.from({ length: level.dims }, (_, axis) => shown(coordinate(level, k, axis))).join(", ");
  return factList([...figures(data, stage, k), ["place", place]]);
}

/** Features that are farthest from their mean over the map. */
export function outstanding(data: MapData, stage: Stage, k: number): HTMLElement | null {
  const { profiles } = stage.level;
  if (!profiles || data.pictures) return null;
  const rows = [];
  for (let i = k * profiles.perPrototype; i < (k + 1) * profiles.perPrototype; i++) {
    const [feature, score] = [profiles.feature[i], profiles.score[i]];
    if (score === 0) continue;
    const name = data.features ? short(data.features[feature], 40) : `feature ${feature}`;
    // From the middle, as long as three spreads at most.
    const length = Math.min(50, (50 * Math.abs(score)) / 3).toFixed(1);
    const bar = h("i", { class: "gm-diverging", "aria-hidden": "true" }, h("i", { style: `width:${length}%;${score > 0 ? "left" : "right"}:50%` }));
    const told = `${shown(profiles.value[i])} (${score > 0 ? "+" : "−"}${shown(Math.abs(score), 2)} sd)`;
    rows.push(h("div", {}, h("dt", { title: short(name, 400) }, name), h("dd", { title: GLOSSARY.sd }, bar, h("span", {}, told))));
  }
  return rows.length ? h("dl", { class: "gm-facts gm-outstanding" }, ...rows) : null;
}

/** The text of a sample, where samples have texts, unless it is what was said already. */
export function quote(data: MapData, sample: number | undefined, length: number, said: string | null = null): HTMLElement | null {
  const prose = proseOf(data);
  const text = sample === undefined ? "" : (prose?.text[sample] ?? "");
  return text && text !== said ? h("blockquote", { class: "gm-quote" }, short(text, length)) : null;
}

/** The card that follows the pointer. */
export function card(data: MapData, stage: Stage, k: number, theme: Theme): HTMLElement {
  const near = nearest(stage, k, 4);
  const label = labelOf(data, stage.level, k);
  return h(
    "div",
    { class: "gm-card-inside" },
    h("div", {}, h("strong", {}, `Prototype ${k}`), label !== null && h("span", { class: "gm-card-label" }, short(label, 60))),
    portraits(data, stage, k),
    !data.pictures && quote(data, membersOf(stage.level, k)[0], 160, label),
    factList(figures(data, stage, k)),
    classBars(data, stage, k, theme, 3),
    outstanding(data, stage, k),
    near.length > 0 && h("p", { class: "gm-note" }, `nearest: ${near.map((other) => `#${other}`).join(" ")}`),
    h("p", { class: "gm-note" }, `click to see ${count(membersOf(stage.level, k).length, "member")}`),
  );
}

/** The card of a sample that is pointed at. */
export function sampleCard(data: MapData, stage: Stage, sample: number, prototype: number): HTMLElement {
  const { level } = stage;
  const label = labelOf(data, level, prototype);
  return h(
    "div",
    { class: "gm-card-inside gm-sample-card" },
    h("div", {}, h("strong", {}, `Sample ${short(idOf(data, sample), 40)}`), data.classes && h("span", { class: "gm-card-label" }, short(data.classes.names[data.classes.of[sample]], 60))),
    h("div", { class: "gm-portraits" }, thumbnail(data, sample)),
    quote(data, sample, 320),
    h("p", { class: "gm-note" }, `of prototype ${prototype}${label && !data.classes ? `: ${short(label, 40)}` : ""}; click to see it`),
  );
}

/** Everything known of one sample. */
export function sampleDetail(data: MapData, sample: number): HTMLElement {
  const entries: [string, string][] = [["id", short(idOf(data, sample), 400)], ["row", String(sample)]];
  if (data.classes) entries.push(["class", short(data.classes.names[data.classes.of[sample]], 400)]);
  for (const column of data.columns) {
    entries.push([short(column.name, 60), column.numbers ? shown(column.numbers[sample], 6) : short(column.text![sample], 2000)]);
  }
  return h(
    "div",
    { class: "gm-sample-inside" },
    thumbnail(data, sample),
    h("dl", { class: "gm-facts" }, ...entries.map(([name, value]) => h("div", { class: value.length > 40 ? "gm-long" : null }, h("dt", {}, name), h("dd", {}, value)))),
  );
}
