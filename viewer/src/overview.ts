// The map as a whole: what it is made of, how the fit went, how weights and classes are spread.

import type { Theme } from "./colors";
import { confusion, histogram, lineChart } from "./charts";
import type { MapData } from "./data";
import { count, h, percent, short, shown } from "./dom";
import { factList, noun } from "./glossary";
import type { Stage } from "./scene";

/** Why a fit ended. */
const STOPS: Record<string, string> = {
  converged: "a round no longer lowered the loss",
  stationary: "no step lowers the loss",
  max_rounds: "at the limit of rounds, before the loss came to rest",
  inexact: "a round no longer lowered the loss, of a similarity that is only nearly the one asked for",
  interrupted: "it was interrupted, and this is the best until then",
};

export function overview(data: MapData, stage: Stage, theme: Theme, pick: (k: number) => void): HTMLElement {
  const { level } = stage;
  const rounds = level.history.length - 1;
  const tell = (at: number) => `${at === 0 ? "start" : `round ${at}`}: ${shown(level.history[at], 4)}`;
  const entries: [string, string][] = [
    [`${noun(data)}s`, data.samples.toLocaleString("en")],
    ["prototypes", level.prototypes.toLocaleString("en")],
  ];
  if (level.loss !== null) entries.push(["loss", shown(level.loss, 4)]);
  if (level.homogeneity !== null) entries.push(["homogeneity", shown(level.homogeneity)]);
  if (level.silhouette !== null) entries.push(["silhouette", shown(level.silhouette)]);
  entries.push(...data.facts.map(([name, value]): [string, string] => [short(name, 40), short(value, 120)]));
  return h(
    "div",
    { class: "gm-overview" },
    factList(entries),
    ...level.warnings.map((warning) => h("p", { class: "gm-warning" }, warning)),
    rounds > 0 && h("h2", { class: "gm-small" }, "Loss by round"),
    rounds > 0 && lineChart(Array.from(level.history), `Loss over ${count(rounds, "round")}`, tell),
    rounds >= 0 && h("p", { class: "gm-note" }, `stopped: ${STOPS[level.stop] ?? level.stop}`),
    h("h2", { class: "gm-small" }, "Weights of prototypes"),
    histogram(level.weights, "Histogram of weights", percent),
    data.classes && h("h2", { class: "gm-small" }, "Prototypes and classes"),
    data.classes && confusion(data, level, stage.order, theme, pick),
  );
}
