// The line above the map: what marks are, what colours stand for, what else is drawn.

import { colorChoices, type Choice } from "./coloring";
import type { MapData } from "./data";
import { h, short } from "./dom";
import { hasLabels } from "./labels";
import { hasLinks, linkedBy } from "./links";
import type { Glyph, State, Store } from "./state";

const GLYPHS: Record<Glyph, { name: string; title: string }> = {
  mean: { name: "Mean", title: "The mean picture of the members" },
  medoid: { name: "Medoid", title: "The picture of the most typical member" },
  profile: { name: "Profile", title: "Mean features, above or below those of the whole map" },
  pie: { name: "Pie", title: "The classes of the members" },
  disc: { name: "Disc", title: "A plain disc" },
};

/** The glyphs that this map has. */
export function glyphChoices(data: MapData): Glyph[] {
  const level = data.levels[0];
  return [
    ...(data.pictures ? (["mean", "medoid"] as const) : []),
    ...(!data.pictures && level.profiles && level.profiles.bins > 1 ? (["profile"] as const) : []),
    ...(data.classes ? (["pie"] as const) : []),
    "disc",
  ];
}

/** The choices under the names of their kinds. */
function colorOptions(choices: Choice[]): HTMLElement[] {
  const groups = [...new Set(choices.map(({ group }) => group))];
  return groups.flatMap((group): HTMLElement[] => {
    const options = choices.filter((choice) => choice.group === group).map(({ value, name }) => h("option", { value }, `Colour: ${short(name, 40)}`));
    return group ? [h("optgroup", { label: group }, ...options)] : options;
  });
}

export function controls(data: MapData, store: Store): { element: HTMLElement; update(state: State): void } {
  const glyphs = glyphChoices(data);
  const segments = glyphs.map((glyph) =>
    h("button", { type: "button", "data-glyph": glyph, title: GLYPHS[glyph].title, click: () => store.set({ glyph }) }, GLYPHS[glyph].name),
  );
  const color = h(
    "select",
    { "aria-label": "Colour", change: (event: Event) => store.set({ color: (event.target as HTMLSelectElement).value }) },
    ...colorOptions(colorChoices(data)),
  );
  const toggle = (key: "spread" | "samples" | "links" | "names" | "ink", name: string, title: string) =>
    h("button", { type: "button", class: "gm-toggle", "data-toggle": key, title, click: () => store.set({ [key]: !store.state[key] }) }, name);
  const toggles = [
    toggle("spread", "Spread", "Move marks apart where they cover each other; a line leads a selected one home"),
    toggle("samples", "Samples", "Every sample as a dot (s)"),
    ...(hasLinks(data) ? [toggle("links", "Links", `The strongest links between prototypes, by their share of all ${linkedBy(data)}`)] : []),
    ...(hasLabels(data) ? [toggle("names", "Names", "Names on the map, where they fit; more of them closer by")] : []),
    ...(data.pictures?.channels === 1 ? [toggle("ink", "Ink", "Pictures as ink in the colour of the mark")] : []),
  ];
  const size = h("input", {
    type: "range",
    min: 0.4,
    max: 2.5,
    step: 0.05,
    "aria-label": "Size of marks",
    title: "Size of marks",
    input: (event: Event) => store.set({ size: Number((event.target as HTMLInputElement).value) }),
  });
  const dims = data.levels[0].dims;
  const axis = (which: 0 | 1) =>
    h(
      "select",
      {
        "aria-label": which ? "Vertical axis" : "Horizontal axis",
        change: (event: Event) => {
          const axes: [number, number] = [...store.state.axes];
          axes[which] = Number((event.target as HTMLSelectElement).value);
          store.set({ axes, view: null });
        },
      },
      ...Array.from({ length: dims }, (_, i) => h("option", { value: i }, `axis ${i + 1}`)),
    );
  const axes = dims > 2 ? [axis(0), axis(1)] : [];
  const element = h(
    "div",
    { class: "gm-controls" },
    h("div", { class: "gm-segments", role: "group", "aria-label": "Marks" }, ...segments),
    color,
    ...(axes.length ? [h("div", { class: "gm-toggles" }, ...axes)] : []),
    h("div", { class: "gm-toggles" }, ...toggles),
    size,
  );
  const update = (state: State) => {
    for (const button of segments) button.setAttribute("aria-pressed", String(button.dataset.glyph === state.glyph));
    for (const button of toggles) button.setAttribute("aria-pressed", String(state[button.dataset.toggle as "spread"]));
    // Among samples, marks stand where they belong.
    toggles[0].disabled = state.samples && data.levels.some(({ samplePlaces }) => samplePlaces !== null);
    color.value = state.color;
    size.value = String(state.size);
    axes.forEach((choice, which) => (choice.value = String(state.axes[which])));
  };
  return { element, update };
}
