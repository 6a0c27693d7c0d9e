// The map as a whole: what it is made of, how the fit went, how weights and classes are spread.

import type { Theme } from "./colors";
import { confusion, histogram, lineChart } from "./charts";
import type { MapData } from "./data";
import { h, percent, shown } from "./dom";
import { factList } from "./glossary";
import type { Stage } from "./scene";

export function overview(data: MapData, stage: Stage, theme: Theme, pick: (k: number) => void): HTMLElement {
  const { level } = stage;
  const rounds = level.history.length - 1;
  const tell = (at: number) => `${at === 0 ? "start" : `round ${at}`}: ${shown(level.history[at], 4)}`;
  const entries: [string, string][] = [
    ["samples", data.samples.toLocaleString("en")],
    ["prototypes", level.prototypes.toLocaleString("en")],
  ];
  if (level.loss !== null) entries.push(["loss", shown(level.loss, 4)]);
  if (level.homogeneity !== null) entries.push(["homogeneity", shown(level.homogeneity)]);
  if (level.silhouette !== null) entries.push(["silhouette", shown(level.silhouette)]);
  const degrees = Math.round((stage.frame.turn * 180) / Math.PI);
  if (degrees) entries.push(["turned for the page", `by ${degrees < 0 ? "−" : ""}${Math.abs(degrees)}°`]);
  return h(
    "div",
    { class: "gm-overview" },
    factList(entries),
    ...level.warnings.map((warning) => h("p", { class: "gm-warning" }, warning)),
    level.history.length > 0 && h("h2", { class: "gm-small" }, "Loss by round"),
    level.history.length > 0 && lineChart(Array.from(level.history), `Loss over ${rounds} rounds`, tell),
    h("p", { class: "gm-note" }, `stopped: ${level.stop}`),
    h("h2", { class: "gm-small" }, "Weights of prototypes"),
    histogram(level.weights, "Histogram of weights", percent),
    data.classes && h("h2", { class: "gm-small" }, "Prototypes and classes"),
    data.classes && confusion(data, level, stage.order, theme, pick),
  );
}
