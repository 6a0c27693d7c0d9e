// What a page of others sees of the map: how it is put into an element, and what can be asked of it then.

import { firstChoice } from "./coloring";
import { glyphChoices } from "./controls";
import type { MapData } from "./data";
import { hasLabels } from "./labels";
import { hasLinks } from "./links";
import { areDrawings } from "./sprites";
import type { State } from "./state";

/** A map in a page. */
export interface Viewer {
  /** Shows something else: any part of the state. */
  update(patch: Partial<State>): void;
  /** What is shown now. */
  readonly state: State;
  /** Where a prototype of the level shown is drawn, in pixels from the corner of the map. */
  placeOf(k: number): [number, number];
  /** Leaves the element as it was. */
  destroy(): void;
}

/** How a map is put into an element. */
export interface Options {
  /** The page is the map's own: the state is kept in its address, and keys work wherever the focus is. */
  address?: boolean;
  /** What is shown at first. */
  state?: Partial<State>;
  /** Called with every new state. */
  changed?(state: State): void;
}

/** What a map shows at first. */
export function startState(data: MapData): State {
  return {
    level: data.levels.length - 1,
    glyph: glyphChoices(data)[0],
    color: firstChoice(data),
    spread: true,
    samples: false,
    links: data.graph && hasLinks(data),
    names: hasLabels(data),
    ink: data.pictures !== null && areDrawings(data.pictures),
    // Of a graph the edges are to be seen, too.
    size: data.graph ? 0.6 : 1,
    axes: [0, 1],
    theme: "auto",
    query: "",
    selected: [],
    sample: null,
    kept: [],
    tab: "overview",
    view: null,
  };
}
