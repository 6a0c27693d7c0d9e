// "How to read this": what one sees, the words, the keys, and how the map was made.

import type { MapData } from "./data";
import { count, h, short, shown } from "./dom";
import { GLOSSARY, noun } from "./glossary";
import { hasLinks, linkedBy } from "./links";

export const KEYS: [string, string][] = [
  ["← ↑ → ↓", "move the map"],
  ["+ −", "zoom in, zoom out"],
  ["0", "show the whole map"],
  ["n p", "next, previous prototype by weight"],
  ["s", "samples on or off"],
  ["l", "lasso: draw around prototypes to select them"],
  ["/", "search"],
  ["d", "light or dark"],
  ["Esc", "clear the selection and the search"],
  ["?", "this page"],
];

/** One sentence that says what the map shows. */
export function sentence(data: MapData, prototypes: number): string {
  const mark = data.pictures ? "picture" : "mark";
  if (prototypes === 1) return `The one ${mark} stands for all of them.`;
  return data.graph
    ? `Each ${mark} stands for nodes with much the same links: near means closely linked, large means many.`
    : `Each ${mark} stands for samples that are alike: near means similar, large means many.`;
}

/** What there is to know, as paragraphs. */
function reading(data: MapData): HTMLElement[] {
  const glyph = data.pictures ? "A picture is the mean of its members." : data.levels[0].profiles ? "Bars inside a mark are its features, up where they are above the mean of the map, down where below." : "";
  return [
    `This map sums up ${count(data.samples, noun(data))} by prototypes. A prototype is one mark; it stands for a group of ${noun(data)}s that are alike. ${glyph}`,
    `Marks that are near each other stand for ${data.graph ? "nodes with links between them" : "similar samples"}. Distances between far marks, and the directions left, right, up and down, mean little.`,
    "The area of a mark is its weight: the share of the whole that it stands for. Where marks would cover each other they are moved apart a little; a line leads a selected one back to its place.",
    ...(data.levels.some(({ samplePlaces }) => samplePlaces) ? ["“Samples” shows every sample as a dot at its own place; point at one to see it."] : []),
    ...(hasLinks(data) ? [`“Links” draws the strongest links between prototypes: the thicker a line, the larger its share of all ${linkedBy(data)}.`] : []),
    ...(data.levels.length > 1 ? ["The slider goes from few prototypes to many: groups split into finer ones, and split again."] : []),
    "Point at a mark for a summary, click it for its members. Shift and drag, or the lasso, selects several; “Groups” compares them.",
  ].map((text) => h("p", {}, text.trim()));
}

/** A dialog with everything, shown by its `showModal`. */
export function helpDialog(data: MapData, turn: number): HTMLDialogElement {
  const rows = (entries: [string, string][]) => h("dl", { class: "gm-keys" }, ...entries.map(([name, value]) => h("div", {}, h("dt", {}, short(name, 60)), h("dd", {}, short(value, 400)))));
  const words = ["prototype", "members", "weight", ...(data.classes ? ["purity", "homogeneity"] : []), "hardness", ...(hasLinks(data) ? ["link"] : []), "silhouette", "loss", "medoid", "sd", "place"];
  const made: [string, string][] = [...data.parameters, ...data.facts, ["gromap", data.version], ...(data.hash === null ? [] : [["data", data.hash] as [string, string]])];
  const degrees = Math.round((turn * 180) / Math.PI);
  if (degrees) made.push(["turned for the page", `by ${shown(degrees)}°. ${GLOSSARY["turned for the page"]}`]);
  const close = h("button", { type: "button", class: "gm-close", "aria-label": "Close" }, "✕");
  const dialog = h(
    "dialog",
    { class: "gm-help", "aria-labelledby": "gm-help-title" },
    close,
    h("h2", { id: "gm-help-title" }, "How to read this"),
    ...reading(data),
    h("h3", {}, "Words"),
    rows(words.map((word) => [word, GLOSSARY[word]])),
    h("h3", {}, "Keys"),
    rows(KEYS),
    h("h3", { class: "gm-made" }, "How this map was made"),
    rows(made),
  );
  close.addEventListener("click", () => dialog.close());
  // A press beside the page closes it.
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}

/** How the map was made, in a line; the rest is behind "details". */
export function footer(data: MapData, explain: () => void): HTMLElement {
  const said = data.parameters.filter(([name]) => name === "method" || name === "seed").map(([name, value]) => h("span", {}, `${name} ${short(value, 40)}`));
  return h("footer", { class: "gm-footer" }, ...said, h("span", {}, `gromap ${data.version}`), h("button", { type: "button", click: explain }, "details"));
}
