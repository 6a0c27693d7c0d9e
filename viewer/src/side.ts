// What stands beside the map: one of four tabs.

import type { Theme } from "./colors";
import type { MapData } from "./data";
import { groups } from "./groups";
import { list } from "./list";
import { overview } from "./overview";
import { panel } from "./panel";
import type { Stage } from "./scene";
import type { Found } from "./search";
import type { State } from "./state";
import type { TraitKind } from "./traits";

export interface SideContext {
  data: MapData;
  stage: Stage;
  theme: Theme;
  state: State;
  found: Found | null;
  /** What groups are compared by; null until it is chosen. */
  kind: TraitKind | null;
  turn(kind: TraitKind): void;
  select(prototypes: number[]): void;
  set(patch: Partial<State>): void;
  announce(text: string): void;
}

export function sideOf(context: SideContext): HTMLElement {
  const { data, stage, theme, state, found, select, set } = context;
  const { selected, sample, kept } = state;
  switch (state.tab) {
    case "overview":
      return overview(data, stage, theme, (k) => select([k]));
    case "prototype":
      return panel({ ...context, sample, look: (sample) => set({ sample }) }, selected);
    case "groups":
      return groups({ ...context, selected, kept, keep: (kept) => set({ kept, selected: [] }) });
    case "list":
      return list(data, stage, new Set(selected), found?.prototypes ?? null, (k) => select([k]));
  }
}
