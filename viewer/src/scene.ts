// What is on the map at one moment: a level, or the way from one to the next along the lineage.

import { coloring, type Coloring, type Theme } from "./colors";
import { classesOf, majority, type Level, type MapData } from "./data";
import { frame, layout, type Frame, type Layout } from "./layout";
import { Sprites } from "./sprites";
import type { State } from "./state";

/** Everything that drawing a level needs, made anew only when its causes change. */
export interface Stage {
  index: number;
  level: Level;
  layout: Layout;
  coloring: Coloring;
  sprites: Sprites | null;
  pies: { of: number; share: number }[][] | null;
  /** Prototypes by weight, the heaviest first: the order of drawing. */
  order: Uint32Array;
  majority: (number | null)[];
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
  frame: Frame;
  /** In the order of drawing. */
  marks: Mark[];
  /** The level whose prototypes can be pointed at. */
  stage: Stage;
  still: boolean;
}

/** Links that carry less than this share of both their ends are not drawn. */
const LEAST_SHARE = 0.02;

export class Scenes {
  private frames = new Map<string, Frame>();
  private layouts = new Map<string, Layout>();
  private sprites = new Map<string, Sprites>();
  private colorings = new Map<string, Coloring>();
  private orders = new Map<number, Uint32Array>();

  constructor(private data: MapData) {}

  at(state: State, theme: Theme): Scene {
    const last = this.data.levels.length - 1;
    const below = Math.min(last, Math.floor(state.level));
    const between = state.level - below;
    const page = cached(this.frames, state.axes.join(), () => frame(this.data.levels, state.axes));
    const here = this.stage(below, page, state, theme);
    if (between < 1e-3 || below === last) return { frame: page, marks: resting(here), stage: here, still: true };
    const there = this.stage(below + 1, page, state, theme);
    const marks = this.moving(here, there, between);
    return { frame: page, marks, stage: between < 0.5 ? here : there, still: false };
  }

  /** The level nearest to where the slider stands. */
  nearest(state: State, theme: Theme): Stage {
    const page = cached(this.frames, state.axes.join(), () => frame(this.data.levels, state.axes));
    return this.stage(Math.round(state.level), page, state, theme);
  }

  private stage(index: number, page: Frame, state: State, theme: Theme): Stage {
    const { data } = this;
    const level = data.levels[index];
    const look = `${index} ${state.color} ${theme.dark}`;
    const colors = cached(this.colorings, look, () => coloring(data, level, state.color, theme));
    const kind = state.glyph === "mean" || state.glyph === "medoid" ? state.glyph : null;
    const ink = state.ink && data.pictures?.channels === 1;
    const picture = `${index} ${kind} ${ink ? look : ""}`;
    return {
      index,
      level,
      layout: cached(this.layouts, `${index} ${state.axes} ${state.size} ${state.spread}`, () => layout(level, page, state.size, state.spread)),
      coloring: colors,
      sprites: kind && data.pictures && level.means ? cached(this.sprites, picture, () => new Sprites(data, level, kind, ink ? colors.of : null), 12) : null,
      pies: state.glyph === "pie" && level.classes ? Array.from({ length: level.prototypes }, (_, k) => classesOf(level, k)) : null,
      order: cached(this.orders, index, () => byWeight(level)),
      majority: Array.from({ length: level.prototypes }, (_, k) => majority(level, k)),
    };
  }

  /** Marks on their way: at both ends they lie upon each other as the prototypes they come from and become; halfway
   *  each is as large as what it carries. */
  private moving(here: Stage, there: Stage, between: number): Mark[] {
    const links = this.data.lineage[here.index];
    const eased = between * between * (3 - 2 * between);
    const apart = 4 * eased * (1 - eased);
    const [before, after] = [here.layout, there.layout];
    const unit = (stage: Stage, k: number) => stage.layout.side[k] ** 2 / stage.level.weights[k];
    const marks: Mark[] = [];
    for (let i = 0; i < links.mass.length; i++) {
      const [k, l, mass] = [links.from[i], links.to[i], links.mass[i]];
      if (mass < LEAST_SHARE * here.level.weights[k] && mass < LEAST_SHARE * there.level.weights[l]) continue;
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

function resting(stage: Stage): Mark[] {
  const { layout, order } = stage;
  return Array.from(order, (k) => ({ stage, k, x: layout.x[k], y: layout.y[k], side: layout.side[k], alpha: 1 }));
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
