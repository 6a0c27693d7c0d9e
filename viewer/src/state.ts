// What the page shows, in one object: changed in one place, told to whoever listens, kept in the address.

export type Glyph = "mean" | "medoid" | "profile" | "pie" | "disc";
export type Theme = "auto" | "light" | "dark";
export type Tab = "overview" | "prototype" | "groups" | "list";

export interface View {
  /** Centre of the window on the page of the map, and magnification: 1 shows all of it. */
  x: number;
  y: number;
  zoom: number;
}

export interface State {
  /** Position on the path: whole at a level, between them in between. */
  level: number;
  glyph: Glyph;
  /** "class", "name", "purity", "hardness", "plain", or "column:", "feature:" or "number:" and which. */
  color: string;
  spread: boolean;
  samples: boolean;
  links: boolean;
  names: boolean;
  /** Pixels as ink in the colour of the mark. */
  ink: boolean;
  size: number;
  axes: [number, number];
  theme: Theme;
  query: string;
  selected: number[];
  /** A sample that is looked at, or null. */
  sample: number | null;
  /** A selection put aside, to compare the next one with. */
  kept: number[];
  tab: Tab;
  view: View | null;
}

/** The least and the most that a map can be magnified; less where something lies far away. */
export const FURTHEST = 0.5;
const LEAST = 0.001;
export const NEAREST = 80;

type Listener = (state: State, before: State) => void;

export class Store {
  private listeners = new Set<Listener>();

  constructor(public state: State) {}

  set(patch: Partial<State>): void {
    const before = this.state;
    const changed = (Object.keys(patch) as (keyof State)[]).some((key) => patch[key] !== before[key]);
    if (!changed) return;
    this.state = { ...before, ...patch };
    for (const listener of this.listeners) listener(this.state, before);
  }

  listen(listener: Listener): void {
    this.listeners.add(listener);
  }

  clear(): void {
    this.listeners.clear();
  }
}

/** The state as text for the address; only what differs from the start. */
export function toHash(state: State, start: State): string {
  const entries = new URLSearchParams();
  const put = (key: string, value: unknown, usual: unknown) => {
    if (String(value) !== String(usual)) entries.set(key, String(value));
  };
  put("level", round(state.level, 3), start.level);
  put("glyph", state.glyph, start.glyph);
  put("color", state.color, start.color);
  put("spread", state.spread, start.spread);
  put("samples", state.samples, start.samples);
  put("links", state.links, start.links);
  put("names", state.names, start.names);
  put("ink", state.ink, start.ink);
  put("size", round(state.size, 2), start.size);
  put("axes", state.axes, start.axes);
  put("theme", state.theme, start.theme);
  put("query", state.query, start.query);
  put("selected", state.selected.slice(0, 500), start.selected);
  put("kept", state.kept.slice(0, 500), start.kept);
  put("sample", state.sample ?? "", start.sample ?? "");
  put("tab", state.tab, start.tab);
  if (state.view) put("view", [round(state.view.x, 1), round(state.view.y, 1), round(state.view.zoom, 3)], "");
  return entries.toString();
}

/** What the address says, as far as it makes sense for this map. */
export function fromHash(hash: string, start: State, limits: { levels: number; dims: number; samples: number; glyphs: Glyph[]; colors: string[] }): State {
  const entries = new URLSearchParams(hash.replace(/^#/, ""));
  const state = { ...start };
  const text = (key: string) => entries.get(key);
  const number = (key: string, low: number, high: number, usual: number) => {
    const value = Number(text(key) ?? NaN);
    return Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : usual;
  };
  const flag = (key: string, usual: boolean) => (text(key) === null ? usual : text(key) === "true");
  const among = <T extends string>(key: string, allowed: readonly T[], usual: T) => allowed.find((value) => value === text(key)) ?? usual;
  const numbers = (key: string) => (text(key) ?? "").split(",").filter(Boolean).map(Number).filter(Number.isFinite);
  state.level = number("level", 0, limits.levels - 1, start.level);
  state.glyph = among("glyph", limits.glyphs, start.glyph);
  state.color = among("color", limits.colors, start.color);
  state.spread = flag("spread", start.spread);
  state.samples = flag("samples", start.samples);
  state.links = flag("links", start.links);
  state.names = flag("names", start.names);
  state.ink = flag("ink", start.ink);
  state.size = number("size", 0.4, 2.5, start.size);
  state.theme = among("theme", ["auto", "light", "dark"], start.theme);
  state.tab = among("tab", ["overview", "prototype", "groups", "list"], start.tab);
  state.query = (text("query") ?? start.query).slice(0, 1000);
  const axes = numbers("axes").filter((axis) => Number.isInteger(axis) && axis >= 0 && axis < limits.dims);
  if (axes.length === 2) state.axes = [axes[0], axes[1]];
  const whole = (key: string) => numbers(key).filter((k) => Number.isInteger(k) && k >= 0);
  state.selected = whole("selected");
  state.kept = whole("kept");
  state.sample = whole("sample").find((i) => i < limits.samples) ?? null;
  const view = numbers("view");
  if (view.length === 3 && view[2] > 0) state.view = { x: view[0], y: view[1], zoom: Math.min(NEAREST, Math.max(LEAST, view[2])) };
  return state;
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
