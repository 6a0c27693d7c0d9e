// What is on the map at one moment: a level, or the way from one to the next along the lineage.

import { coloring, type Coloring } from "./coloring";
import { mixed, type Theme } from "./colors";
import { classesOf, majority, type Level, type MapData } from "./data";
import { bounds, frame, layout, turnOf, type Box, type Frame, type Layout } from "./layout";
import { Sprites } from "./sprites";
import type { State } from "./state";

/** Everything that drawing a level needs, made anew only when its causes change. */
export interface Stage {
  index: number;
  level: Level;
  frame: Frame;
  layout: Layout;
  coloring: Coloring;
  sprites: Sprites | null;
  pies: { of: number; share: number }[][] | null;
  /** Prototypes by weight, the heaviest first: the order of drawing. */
  order: Uint32Array;
  majority: (number | null)[];
  /** Its marks at rest, in that order. */
  marks: Mark[];
}

/** A mark on the page of the map. */
export interface Mark {
  stage: Stage;
  k: number;
  x: number;
  y: number;
  side: number;
  alpha: number;
}

export interface Scene {
  /** In the order of drawing. */
  marks: Mark[];
  /** The level whose prototypes can be pointed at. */
  stage: Stage;
  still: boolean;
}

/** Marks among their samples are smaller, and stand where they belong. */
const AMONG_SAMPLES = 0.36;

/** Links that carry less than this share of both their ends are not drawn, unless they are all an end has. */
const LEAST_SHARE = 0.12;

export class Scenes {
  private frames = new Map<string, Frame>();
  private layouts = new Map<string, Layout>();
  private boxes = new Map<string, Box>();
  /** How far the map is turned on the page, in radians: all levels alike, as the last. */
  readonly turn: number;
  private sprites = new Map<string, Sprites>();
  private colorings = new Map<string, Coloring>();
  private stages = new Map<string, Stage>();

  /** On a window that is higher than wide, a map is as well. */
  constructor(
    private data: MapData,
    upright: boolean,
  ) {
    const last = data.levels[data.levels.length - 1];
    this.turn = turnOf(last) + (upright && last.dims === 2 ? Math.PI / 2 : 0);
  }

  at(state: State, theme: Theme): Scene {
    const last = this.data.levels.length - 1;
    const below = Math.min(last, Math.floor(state.level));
    const between = state.level - below;
    const here = this.stage(below, state, theme);
    if (between < 1e-3 || below === last) return { marks: here.marks, stage: here, still: true };
    const there = this.stage(below + 1, state, theme);
    return { marks: this.moving(here, there, between), stage: between < 0.5 ? here : there, still: false };
  }

  /** The level nearest to where the slider stands. */
  nearest(state: State, theme: Theme): Stage {
    return this.stage(Math.round(state.level), state, theme);
  }

  /** The box that holds the marks, on the way from one level to the next in between theirs; with `all`, far ones too. */
  bounds(state: State, all = false): Box {
    const below = Math.min(this.data.levels.length - 1, Math.floor(state.level));
    const above = Math.min(this.data.levels.length - 1, below + 1);
    const [here, there] = [below, above].map((index) => cached(this.boxes, `${index} ${layoutKey(state)} ${all}`, () => bounds(this.layout(index, state), this.frame(index, state), all)));
    const eased = ease(state.level - below);
    const between = (key: keyof Box) => here[key] + (there[key] - here[key]) * eased;
    return { x: between("x"), y: between("y"), width: between("width"), height: between("height") };
  }

  private frame(index: number, state: State): Frame {
    return cached(this.frames, `${index} ${state.axes}`, () => frame(this.data.levels[index], state.axes, this.turn));
  }

  private layout(index: number, state: State): Layout {
    const level = this.data.levels[index];
    const among = state.samples && level.samplePlaces !== null;
    const make = () => layout(level, this.frame(index, state), state.size * (among ? AMONG_SAMPLES : 1), state.spread && !among);
    return cached(this.layouts, `${index} ${layoutKey(state)}`, make);
  }

  private stage(index: number, state: State, theme: Theme): Stage {
    const key = `${index} ${layoutKey(state)} ${state.glyph} ${state.ink} ${state.color} ${theme.dark}`;
    return cached(this.stages, key, () => this.makeStage(index, state, theme), 24);
  }

  private makeStage(index: number, state: State, theme: Theme): Stage {
    const { data } = this;
    const level = data.levels[index];
    const look = `${index} ${state.color} ${theme.dark}`;
    const colors = cached(this.colorings, look, () => coloring(data, level, state.color, theme));
    const kind = state.glyph === "mean" || state.glyph === "medoid" ? state.glyph : null;
    const ink = state.ink && data.pictures?.channels === 1;
    const picture = `${index} ${kind} ${ink ? look : ""}`;
    const [order, layout] = [byWeight(level), this.layout(index, state)];
    const stage: Stage = {
      index,
      level,
      frame: this.frame(index, state),
      layout,
      coloring: colors,
      sprites: kind && data.pictures && level.means ? cached(this.sprites, picture, () => new Sprites(data, level, kind, ink ? inks(colors, theme) : null), 12) : null,
      pies: state.glyph === "pie" && level.classes ? Array.from({ length: level.prototypes }, (_, k) => classesOf(level, k)) : null,
      order,
      majority: Array.from({ length: level.prototypes }, (_, k) => majority(level, k)),
      marks: [],
    };
    stage.marks = Array.from(order, (k) => ({ stage, k, x: layout.x[k], y: layout.y[k], side: layout.side[k], alpha: 1 }));
    return stage;
  }

  /** Marks on their way: at both ends they lie upon each other as the prototypes they come from and become; halfway
   *  each is as large as what it carries. */
  private moving(here: Stage, there: Stage, between: number): Mark[] {
    const links = this.data.lineage[here.index];
    const eased = ease(between);
    const apart = 4 * eased * (1 - eased);
    const [before, after] = [here.layout, there.layout];
    const main = { from: heaviestLinks(links.from, links.mass), to: heaviestLinks(links.to, links.mass) };
    const unit = (stage: Stage, k: number) => stage.layout.side[k] ** 2 / stage.level.weights[k];
    const marks: Mark[] = [];
    for (let i = 0; i < links.mass.length; i++) {
      const [k, l, mass] = [links.from[i], links.to[i], links.mass[i]];
      const minor = mass < LEAST_SHARE * here.level.weights[k] && mass < LEAST_SHARE * there.level.weights[l];
      if (minor && i !== main.from[k] && i !== main.to[l]) continue;
      const whole = before.side[k] ** 2 * (1 - eased) + after.side[l] ** 2 * eased;
      const carried = mass * (unit(here, k) * (1 - eased) + unit(there, l) * eased);
      const side = Math.sqrt(whole * (1 - apart) + carried * apart);
      const x = before.x[k] + (after.x[l] - before.x[k]) * eased;
      const y = before.y[k] + (after.y[l] - before.y[k]) * eased;
      // The old picture stays under the new one, which comes up over it.
      marks.push({ stage: here, k, x, y, side, alpha: 1 - eased ** 3 });
      if (eased > 0.02) marks.push({ stage: there, k: l, x, y, side, alpha: eased });
    }
    return marks.sort((a, b) => b.side - a.side);
  }
}

/** What the places of marks depend on, besides the level. */
function layoutKey({ axes, size, spread, samples }: State): string {
  return `${axes} ${size} ${spread} ${samples}`;
}

/** Slow at both ends. */
function ease(share: number): number {
  return share * share * (3 - 2 * share);
}

/** For each end, the link that carries the most. */
function heaviestLinks(ends: Uint32Array, mass: Float32Array): number[] {
  const best: number[] = [];
  ends.forEach((end, i) => {
    if (best[end] === undefined || mass[i] > mass[best[end]]) best[end] = i;
  });
  return best;
}

/** Ink is a little stronger than the colour it has: its lines are thin. */
function inks(colors: Coloring, theme: Theme): string[] {
  return colors.of.map((color) => mixed(color, theme.ink, 0.15));
}

function byWeight(level: Level): Uint32Array {
  return Uint32Array.from({ length: level.prototypes }, (_, k) => k).sort((a, b) => level.weights[b] - level.weights[a] || a - b);
}

/** A value made once for each key; the oldest go when there are many. */
function cached<K, V>(store: Map<K, V>, key: K, make: () => V, most = 64): V {
  let value = store.get(key);
  if (value === undefined) {
    value = make();
    if (store.size >= most) store.delete(store.keys().next().value!);
    store.set(key, value);
  }
  return value;
}
