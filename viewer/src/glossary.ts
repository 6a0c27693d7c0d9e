// The words of the page, each in one sentence. A word that can be pressed says its sentence; the page "How to read this" has all.

import type { MapData } from "./data";
import { h } from "./dom";

export const GLOSSARY: Record<string, string> = {
  prototype: "One mark on the map. It stands for a group of samples that are alike.",
  samples: "The rows of your data: pictures, texts or lines of a table.",
  nodes: "The nodes of your graph.",
  prototypes: "The marks on the map. Each stands for a group of samples that are alike.",
  weight: "The share of all samples that a prototype stands for. The area of its mark shows it.",
  members: "How many samples belong to a prototype.",
  purity: "The share of a prototype's members that are of its largest class. 100 % means a single class.",
  hardness: "The share of a prototype that comes from samples that belong to it alone. Below 100 % some are shared with others.",
  place: "Where it lies on the map. The axes have no unit and no meaning of their own: only who is near whom counts.",
  colour: "The number that its colour stands for.",
  loss: "What the fit makes as small as it can: how far nearness on the map is from similarity in the data. Compare it between runs of one method on the same data only.",
  homogeneity: "How far prototypes hold one class each, from 0 (mixed as all samples are) to 1 (one class each).",
  silhouette: "How clearly groups are apart, from −1 to 1. Above 0 a group is nearer to itself than to the next one.",
  "turned for the page": "A map has no up or left. It is turned so that it is widest from left to right; what is near stays near.",
  link: "A line between two prototypes: the share of all similarity between samples, or of all edges of a graph, that runs between them.",
  medoid: "The most typical member: the one nearest to the mean of all members.",
  sd: "Standard deviations from the mean of the map. +2 sd is clearly above, −2 sd clearly below.",
  "largest class": "The class that most members of a prototype are of.",
  name: "What it is called: a given name, or the features or words that it stands out by.",
  "strongest link": "The link that carries the most: the share of all edges that runs between its two prototypes.",
  "made of": "What the map was made of, where it was not made of samples.",
  "weights of views": "How much each of several views of the data counted, in their order.",
  coreset: "The part of the data that stood for all of it in the fit.",
  "samples of one prototype alone": "The share of samples that belong to a single prototype; the others are shared.",
  "prototypes without samples": "Prototypes that were asked for and that no sample chose.",
  stability: "How reliably a prototype comes again when the fit is repeated, from 0 to 1.",
};

/** What one of the things is that the map was made of. */
export function noun(data: MapData): string {
  return data.graph ? "node" : "sample";
}

/** A word that says what it means: on hover, and when it is pressed. Names that are not ours are of means, or were given. */
export function term(name: string, text = name): HTMLElement {
  const other = name.startsWith("mean ") ? "The mean of all members." : "A value that was given with the map.";
  const meaning = Object.hasOwn(GLOSSARY, name) ? GLOSSARY[name] : other;
  return h("button", { type: "button", class: "gm-term", title: meaning, "data-meaning": meaning }, text);
}

/** Names and values, one below the other; every name can be asked. */
export function factList(entries: [string, string][]): HTMLElement {
  return h("dl", { class: "gm-facts" }, ...entries.map(([name, value]) => h("div", {}, h("dt", {}, term(name)), h("dd", {}, value))));
}
