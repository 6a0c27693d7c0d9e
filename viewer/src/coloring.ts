// What colours stand for: classes, columns, features, what is known of prototypes; the most telling first.
//
// A choice tells about the map as far as it differs between prototypes: the share of its variance that lies between them,
// for words the same with one column of zeros and ones for each word. Numbers go on one ramp, words to ten hues.

import { classColor, isRepeated, ramp, type Theme } from "./colors";
import { columnMeans, featureName, labelsOf, majority, purity, type Level, type MapData } from "./data";

/** Words that get a hue of their own; the rest is "other". */
const MOST_WORDS = 9;
const OTHER = "#8a8f99";
/** Steps of the ramp for samples. */
const SHADES = 64;
/** Share of prototypes at each end that may lie beyond the ramp, so that a few far ones leave colours to the rest. */
const TAIL = 0.02;

export interface Choice {
  value: string;
  name: string;
  group: string;
  /** How much it tells about the prototypes, from 0 to 1; null where that is not known. */
  told: number | null;
}

/** What tells less is no colour to begin with. */
const LEAST_TOLD = 0.05;

/** A word, its colour, and how to find its samples. */
export interface Category {
  name: string;
  color: string;
  broken: boolean;
  query: string | null;
}

/** The colours of the prototypes of a level, and how to read them. */
export interface Coloring {
  of: string[];
  /** What they stand for; empty when for nothing. */
  name: string;
  /** A value of each prototype when colours stand for numbers, and the ends of the ramp. */
  values: Float64Array | null;
  low: number;
  high: number;
  /** Whether some values lie beyond the ends. */
  beyond: [boolean, boolean];
  categories: Category[] | null;
  /** Which prototypes share the hue of an earlier class, and so have a broken outline. */
  broken: boolean[] | null;
  /** A colour of each sample by its own value; null where samples have the colours of their prototypes. */
  samples: { palette: string[]; of: ArrayLike<number> } | null;
}

/** Words of a text column and which of them each sample has; null when it is more of a text than a word. */
interface Words {
  names: string[];
  of: Uint32Array;
}

const wordsOf = new WeakMap<string[], Words | null>();

function words(text: string[]): Words | null {
  if (!wordsOf.has(text)) {
    const index = new Map<string, number>();
    const most = Math.max(12, text.length / 4);
    const of = new Uint32Array(text.length);
    let few = true;
    for (let i = 0; i < text.length && few; i++) {
      let at = index.get(text[i]);
      if (at === undefined) index.set(text[i], (at = index.size));
      of[i] = at;
      few = index.size <= most;
    }
    wordsOf.set(text, few && index.size > 1 ? { names: [...index.keys()], of } : null);
  }
  return wordsOf.get(text)!;
}

/** Whether a text column is made of texts, not of words that come again. */
export function isProse(text: string[]): boolean {
  return words(text) === null;
}

/** The share of the variance of numbers that lies between prototypes. */
function explainedNumbers(data: MapData, level: Level, values: Float64Array): number {
  const means = columnMeans(data, level, values);
  let [count, sum, squares] = [0, 0, 0];
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    count++;
    sum += value;
    squares += value * value;
  }
  const whole = count ? squares / count - (sum / count) ** 2 : 0;
  let [mass, mean, between] = [0, 0, 0];
  level.weights.forEach((weight, k) => {
    if (!Number.isFinite(means[k])) return;
    mass += weight;
    mean += weight * means[k];
    between += weight * means[k] ** 2;
  });
  return whole > 1e-12 * squares && mass > 0 ? Math.min(1, (between / mass - (mean / mass) ** 2) / whole) : 0;
}

/** The same for words: one minus the Gini impurity inside prototypes over that of all samples. */
function explainedWords(data: MapData, level: Level, { names, of }: Words): number {
  const labels = labelsOf(data, level);
  const all = new Float64Array(names.length);
  const inside: Map<number, number>[] = Array.from({ length: level.prototypes }, () => new Map());
  for (let i = 0; i < of.length; i++) {
    all[of[i]]++;
    inside[labels[i]].set(of[i], (inside[labels[i]].get(of[i]) ?? 0) + 1);
  }
  const impurity = (counts: Iterable<number>) => {
    let [sum, squares] = [0, 0];
    for (const count of counts) {
      sum += count;
      squares += count * count;
    }
    return sum ? { sum, gini: 1 - squares / (sum * sum) } : { sum: 0, gini: 0 };
  };
  const within = inside.reduce((total, counts) => {
    const { sum, gini } = impurity(counts.values());
    return total + sum * gini;
  }, 0);
  const whole = impurity(all);
  return whole.gini > 0 ? 1 - within / (whole.sum * whole.gini) : 0;
}

const choicesOf = new WeakMap<MapData, Choice[]>();

/** What colours can stand for on this map, the most telling first within its kind. */
export function colorChoices(data: MapData): Choice[] {
  if (!choicesOf.has(data)) choicesOf.set(data, findChoices(data));
  return choicesOf.get(data)!;
}

function findChoices(data: MapData): Choice[] {
  const last = data.levels[data.levels.length - 1];
  const columns = data.columns.flatMap((column) => {
    const found = column.text ? words(column.text) : null;
    if (column.text && !found) return [];
    const told = found ? explainedWords(data, last, found) : explainedNumbers(data, last, column.numbers!);
    return [{ value: `column:${column.name}`, name: column.name, group: "Columns", told }];
  });
  const features = Array.from(data.telling?.columns ?? [], (column, i) => ({
    value: `feature:${column}`,
    name: featureName(data, column),
    group: data.telling!.explained ? "Features, the most telling first" : "Features",
    told: data.telling!.explained?.[i] ?? null,
  }));
  columns.sort((a, b) => b.told - a.told);
  // What tells the most comes first, columns before features where neither does.
  const kinds = (features[0]?.told ?? 0) > (columns[0]?.told ?? 0) ? [features, columns] : [columns, features];
  const soft = data.levels.some((level) => level.hardness.some((share) => share < 1));
  const known = "Prototypes";
  return [
    ...(data.classes ? [{ value: "class", name: "class", group: "", told: 1 }] : []),
    ...(last.names && new Set(last.names).size < last.names.length ? [{ value: "name", name: "name", group: "", told: 1 }] : []),
    ...kinds.flat(),
    ...last.numbers.map(({ name }) => ({ value: `number:${name}`, name, group: known, told: null })),
    ...(data.classes ? [{ value: "purity", name: "purity", group: known, told: null }] : []),
    ...(soft ? [{ value: "hardness", name: "hardness", group: known, told: null }] : []),
    { value: "plain", name: "one colour", group: known, told: null },
  ];
}

/** What a map is coloured by at first: what it was given classes or names for, or the most telling column or feature. */
export function firstChoice(data: MapData): string {
  return colorChoices(data).find(({ told }) => told !== null && told >= LEAST_TOLD)?.value ?? "plain";
}

export function coloring(data: MapData, level: Level, choice: string, theme: Theme): Coloring {
  const { name } = colorChoices(data).find(({ value }) => value === choice) ?? { name: "" };
  if (choice === "class" && data.classes && level.classes) return byClass(data, level, theme);
  if (choice === "name" && level.names) return byWord(data, level, wordsOfNames(level.names), null, name, theme);
  const column = data.columns.find((column) => choice === `column:${column.name}`);
  const found = column?.text ? words(column.text) : null;
  if (found) return byWord(data, level, found, labelsOf(data, level), name, theme);
  const values = valuesOf(data, level, choice);
  if (!values) {
    const of = Array.from({ length: level.prototypes }, () => (theme.dark ? "#7ea2e0" : data.plain));
    return { of, name: "", values: null, low: 0, high: 0, beyond: [false, false], categories: null, broken: null, samples: null };
  }
  return byNumber(values, choice, name, column?.numbers ?? null, theme);
}

function byClass(data: MapData, level: Level, theme: Theme): Coloring {
  const palette = data.classes!.names.map((_, i) => classColor(data, i, theme));
  const of = Array.from({ length: level.prototypes }, (_, k) => palette[majority(level, k) ?? 0]);
  const broken = Array.from({ length: level.prototypes }, (_, k) => isRepeated(data, majority(level, k) ?? 0));
  const categories = data.classes!.names.map((name, i) => ({ name, color: palette[i], broken: isRepeated(data, i), query: `class=${name}` }));
  return { of, name: "class", values: null, low: 0, high: 0, beyond: [false, false], categories, broken, samples: { palette, of: data.classes!.of } };
}

function wordsOfNames(names: string[]): Words {
  const index = new Map<string, number>();
  const of = Uint32Array.from(names, (name) => {
    if (!index.has(name)) index.set(name, index.size);
    return index.get(name)!;
  });
  return { names: [...index.keys()], of };
}

/** By the most frequent word of a prototype's members, or, without labels, by a word of its own. */
function byWord(data: MapData, level: Level, found: Words, labels: Uint32Array | null, name: string, theme: Theme): Coloring {
  const counts = new Float64Array(found.names.length);
  found.of.forEach((word, i) => (counts[word] += labels ? 1 : level.weights[i]));
  const order = Array.from(counts.keys()).sort((a, b) => counts[b] - counts[a] || a - b);
  const rank = new Uint32Array(found.names.length).fill(MOST_WORDS);
  order.slice(0, MOST_WORDS).forEach((word, i) => (rank[word] = i));
  const named = Math.min(order.length, MOST_WORDS);
  const palette = [...Array.from({ length: MOST_WORDS }, (_, i) => classColor(data, i, theme)), OTHER];
  const ranks = Uint8Array.from(found.of, (word) => rank[word]);
  const categories = order.slice(0, named).map((word, i) => ({ name: found.names[word], color: palette[i], broken: false, query: labels ? found.names[word] : null }));
  if (order.length > named) categories.push({ name: `other (${order.length - named})`, color: OTHER, broken: false, query: null });
  const largest = labels ? largestOf(level, ranks, labels) : ranks;
  const of = Array.from({ length: level.prototypes }, (_, k) => palette[largest[k]]);
  return { of, name, values: null, low: 0, high: 0, beyond: [false, false], categories, broken: null, samples: labels ? { palette, of: ranks } : null };
}

function largestOf(level: Level, ranks: Uint8Array, labels: Uint32Array): Uint8Array {
  const counts = new Float64Array(level.prototypes * (MOST_WORDS + 1));
  labels.forEach((k, sample) => counts[k * (MOST_WORDS + 1) + ranks[sample]]++);
  return Uint8Array.from({ length: level.prototypes }, (_, k) => {
    const own = counts.subarray(k * (MOST_WORDS + 1), (k + 1) * (MOST_WORDS + 1));
    return own.reduce((best, value, i) => (value > own[best] ? i : best), 0);
  });
}

function byNumber(values: Float64Array, choice: string, name: string, own: Float64Array | null, theme: Theme): Coloring {
  const known = values.filter(Number.isFinite).sort();
  // Shares are compared on the whole scale from 0 to 1, everything else on its own.
  const shares = choice === "purity" || choice === "hardness";
  const [least, most] = [known[0] ?? 0, known[known.length - 1] ?? 0];
  let [low, high] = [known[Math.floor(TAIL * known.length)] ?? 0, known[Math.ceil((1 - TAIL) * known.length) - 1] ?? 0];
  if (!(high > low) || most - least < 1.5 * (high - low)) [low, high] = [least, most];
  if (shares) [low, high] = [0, 1];
  const at = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
  const of = Array.from(values, (value) => (Number.isFinite(value) ? ramp(at(value), theme) : OTHER));
  const shade = (value: number) => (Number.isFinite(value) ? Math.round(Math.min(1, Math.max(0, at(value))) * (SHADES - 1)) : SHADES);
  const palette = [...Array.from({ length: SHADES }, (_, i) => ramp(i / (SHADES - 1), theme)), OTHER];
  const samples = own ? { palette, of: Uint8Array.from(own, shade) } : null;
  return { of, name, values, low, high, beyond: shares ? [false, false] : [least < low, most > high], categories: null, broken: null, samples };
}

function valuesOf(data: MapData, level: Level, choice: string): Float64Array | null {
  if (choice === "purity" && level.classes) return Float64Array.from({ length: level.prototypes }, (_, k) => purity(level, k));
  if (choice === "hardness") return Float64Array.from(level.hardness);
  if (choice.startsWith("feature:") && data.telling && level.features) {
    const [all, width] = [level.features, data.telling.columns.length];
    const at = data.telling.columns.indexOf(Number(choice.slice(8)));
    return at < 0 ? null : Float64Array.from({ length: level.prototypes }, (_, k) => all[k * width + at]);
  }
  const given = level.numbers.find(({ name }) => choice === `number:${name}`);
  if (given) return given.values;
  const column = data.columns.find(({ name }) => choice === `column:${name}`);
  return column?.numbers ? columnMeans(data, level, column.numbers) : null;
}
