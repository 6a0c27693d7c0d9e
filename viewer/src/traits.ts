// Prototypes against what is known of them, as one table: means of features and of columns, or shares of classes.

import { classesOf, columnMeans, featureName, type Level, type MapData } from "./data";

/** A column of the table. */
export interface Trait {
  name: string;
  /** One value for each prototype. */
  values: Float64Array;
  /** Its mean over the map, and its spread between prototypes. */
  mean: number;
  spread: number;
}

export type TraitKind = "features" | "classes";

/** What there is a table of. */
export function traitKinds(data: MapData): TraitKind[] {
  const numbers = data.columns.some((column) => column.numbers) || data.levels[0].numbers.length > 0;
  return [...(data.telling || numbers ? (["features"] as const) : []), ...(data.classes ? (["classes"] as const) : [])];
}

/** The traits of one kind, the most telling first. */
export function traitsOf(data: MapData, level: Level, kind: TraitKind): Trait[] {
  return kind === "classes" ? classTraits(data, level) : numberTraits(data, level);
}

function trait(level: Level, name: string, values: Float64Array): Trait {
  let [mass, mean, squares] = [0, 0, 0];
  values.forEach((value, k) => {
    if (!Number.isFinite(value)) return;
    mass += level.weights[k];
    mean += level.weights[k] * value;
    squares += level.weights[k] * value * value;
  });
  mean /= mass || 1;
  return { name, values, mean, spread: Math.sqrt(Math.max(0, squares / (mass || 1) - mean * mean)) };
}

function numberTraits(data: MapData, level: Level): Trait[] {
  const width = data.telling?.columns.length ?? 0;
  const features = Array.from(data.telling?.columns ?? [], (column, j) =>
    trait(level, featureName(data, column), Float64Array.from({ length: level.prototypes }, (_, k) => level.features![k * width + j])),
  );
  const columns = data.columns.flatMap(({ name, numbers }) => (numbers ? [trait(level, name, columnMeans(data, level, numbers))] : []));
  const given = level.numbers.map(({ name, values }) => trait(level, name, values));
  // A column that is a feature too is said once.
  const known = new Set(features.map(({ name }) => name));
  return [...features, ...[...columns, ...given].filter(({ name }) => !known.has(name))].filter(({ spread, mean }) => spread > 1e-9 * Math.abs(mean));
}

function classTraits(data: MapData, level: Level): Trait[] {
  const shares = data.classes!.names.map(() => new Float64Array(level.prototypes));
  for (let k = 0; k < level.prototypes; k++) for (const { of, share } of classesOf(level, k)) shares[of][k] = share;
  const traits = data.classes!.names.map((name, i) => trait(level, name, shares[i]));
  return traits.filter(({ mean }) => mean > 0).sort((a, b) => b.mean - a.mean);
}

/** How far a value is from the mean of the map, in spreads; 0 where it is unknown. */
export function score(trait: Trait, value: number): number {
  return Number.isFinite(value) && trait.spread > 0 ? (value - trait.mean) / trait.spread : 0;
}

/** The mean of some prototypes by their weights. */
export function meanOver(level: Level, trait: Trait, prototypes: Iterable<number>): number {
  let [mass, sum] = [0, 0];
  for (const k of prototypes) {
    if (!Number.isFinite(trait.values[k])) continue;
    mass += level.weights[k];
    sum += level.weights[k] * trait.values[k];
  }
  return mass > 0 ? sum / mass : NaN;
}

/** Most that are put in a chain, each next to the one most like it. */
const CHAINED = 800;

/** Prototypes so that those alike are neighbours: along the direction in which they differ the most, and then, where they are
 *  few enough, each followed by the nearest that is left. */
export function similarOrder(traits: Trait[], prototypes: number): number[] {
  const rows = Array.from({ length: prototypes }, (_, k) => traits.map((trait) => score(trait, trait.values[k])));
  const along = mainDirection(rows, traits.length);
  const place = rows.map((row) => row.reduce((sum, value, j) => sum + value * along[j], 0));
  const order = place.map((_, k) => k).sort((a, b) => place[a] - place[b] || a - b);
  if (prototypes > CHAINED || !traits.length) return order;
  const distance = (a: number, b: number) => rows[a].reduce((sum, value, j) => sum + (value - rows[b][j]) ** 2, 0);
  const left = new Set(order.slice(1));
  const chain = order.slice(0, 1);
  while (left.size) {
    const last = chain[chain.length - 1];
    let [best, least] = [-1, Infinity];
    for (const k of left) {
      const found = distance(last, k);
      if (found < least) [best, least] = [k, found];
    }
    left.delete(best);
    chain.push(best);
  }
  return chain;
}

/** The first principal direction, by a few steps of the power method. */
function mainDirection(rows: number[][], width: number): number[] {
  let along = Array.from({ length: width }, (_, j) => 1 / (j + 1));
  for (let step = 0; step < 30; step++) {
    const next = new Array<number>(width).fill(0);
    for (const row of rows) {
      const dot = row.reduce((sum, value, j) => sum + value * along[j], 0);
      row.forEach((value, j) => (next[j] += dot * value));
    }
    const length = Math.hypot(...next);
    if (!(length > 0)) break;
    along = next.map((value) => value / length);
  }
  return along;
}
