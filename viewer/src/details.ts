// What there is to say of one prototype: for the card that follows the pointer, and for the panel.

import { classColor, type Theme } from "./colors";
import { classesOf, membersOf, purity, type MapData } from "./data";
import { count, h, percent, short, shown } from "./dom";
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
  return h("div", { class: "gm-portraits" }, figure(mean, "mean"), medoid && figure(medoid, "medoid"));
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

/** Weight, members, purity, place. */
export function facts(data: MapData, stage: Stage, k: number): HTMLElement {
  const { level } = stage;
  const entries: [string, string][] = [
    ["weight", percent(level.weights[k])],
    ["members", (level.offsets[k + 1] - level.offsets[k]).toLocaleString("en")],
  ];
  if (data.classes) entries.push(["purity", percent(purity(level, k))]);
  if (level.shares) entries.push(["hardness", percent(level.hardness[k])]);
  const { values } = stage.coloring;
  if (values) entries.push(["colour", shown(values[k])]);
  const place = Array.from({ length: level.dims }, (_, axis) => shown(coordinate(level, k, axis))).join(", ");
  entries.push(["place", place]);
  return h("dl", { class: "gm-facts" }, ...entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
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
    rows.push(h("div", {}, h("dt", {}, name), h("dd", {}, `${shown(profiles.value[i])} (${score > 0 ? "+" : "−"}${shown(Math.abs(score), 2)} sd)`)));
  }
  return rows.length ? h("dl", { class: "gm-facts gm-outstanding" }, ...rows) : null;
}

/** The card that follows the pointer. */
export function card(data: MapData, stage: Stage, k: number, theme: Theme): HTMLElement {
  const near = nearest(stage, k, 4);
  return h(
    "div",
    { class: "gm-card-inside" },
    h("strong", {}, `Prototype ${k}`),
    portraits(data, stage, k),
    facts(data, stage, k),
    classBars(data, stage, k, theme, 3),
    outstanding(data, stage, k),
    near.length > 0 && h("p", { class: "gm-note" }, `nearest: ${near.map((other) => `#${other}`).join(" ")}`),
    h("p", { class: "gm-note" }, `click to see ${count(membersOf(stage.level, k).length, "member")}`),
  );
}
