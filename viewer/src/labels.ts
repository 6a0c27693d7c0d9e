// What a prototype is called: its given name, its largest class, the features that it stands out by, or the first words of its
// most typical member, whichever there is first.

import { isProse } from "./coloring";
import { classesOf, membersOf, type Level, type MapData } from "./data";

/** Features that a label names, and how far each must be from the mean of the map, in its spread. */
const FEATURES = 3;
const LEAST_SCORE = 0.5;
const LONGEST = 30;
/** A class below the first share is not alone, if another has more than the second; below the third it does not name a prototype. */
const [ALONE, SECOND, LEAST] = [0.65, 0.25, 0.4];

const made = new WeakMap<Level, (string | null)[]>();

/** The label of a prototype, or null when nothing is known of it. */
export function labelOf(data: MapData, level: Level, k: number): string | null {
  let labels = made.get(level);
  if (!labels) made.set(level, (labels = Array.from({ length: level.prototypes }, (_, k) => makeLabel(data, level, k))));
  return labels[k];
}

/** Whether prototypes have labels at all. */
export function hasLabels(data: MapData): boolean {
  const level = data.levels[0];
  return labelOf(data, level, 0) !== null;
}

function makeLabel(data: MapData, level: Level, k: number): string | null {
  if (level.names) return level.names[k];
  const [first, second, third] = classesOf(level, k);
  if (data.classes && first) {
    const { names } = data.classes;
    // Those that share a prototype are all named.
    const sharing = first.share < ALONE ? [first, second, third].filter((entry) => entry?.share > SECOND) : [];
    if (sharing.length > 1) return sharing.map(({ of }) => names[of]).join(" / ");
    return first.share < LEAST ? "mixed" : names[first.of];
  }
  return byFeatures(data, level, k) ?? byText(data, level, k);
}

/** Words are said as they are; other features are high or low. Without names, features say nothing. */
function byFeatures(data: MapData, level: Level, k: number): string | null {
  const { profiles } = level;
  if (!profiles || !data.features || data.pictures) return null;
  const found: { name: string; score: number }[] = [];
  for (let i = k * profiles.perPrototype; i < (k + 1) * profiles.perPrototype; i++) {
    if (Math.abs(profiles.score[i]) >= LEAST_SCORE) found.push({ name: data.features[profiles.feature[i]], score: profiles.score[i] });
  }
  const high = found.filter(({ score }) => score > 0);
  if (areCounts(level) && high.length) return joined(high.map(({ name }) => name));
  return found.length ? joined(found.map(({ name, score }) => `${score > 0 ? "high" : "low"} ${name}`)) : null;
}

/** As many parts as a label holds. */
function joined(parts: string[]): string {
  let text = parts[0];
  for (const part of parts.slice(1, FEATURES)) if (text.length + part.length + 2 <= LONGEST) text += `, ${part}`;
  return text;
}

/** Whether features are counts: nowhere below zero, and most of them absent from some prototypes. */
function areCounts(level: Level): boolean {
  const { features, prototypes } = level;
  if (!features || features.length === 0) return false;
  const width = features.length / prototypes;
  let absent = 0;
  for (let j = 0; j < width; j++) {
    let [low, high] = [Infinity, -Infinity];
    for (let k = 0; k < prototypes; k++) {
      low = Math.min(low, features[k * width + j]);
      high = Math.max(high, features[k * width + j]);
    }
    if (low < 0) return false;
    if (low <= 0.02 * high) absent++;
  }
  return absent > width / 2;
}

/** The text of the samples, where a column has one. */
export function proseOf(data: MapData): { name: string; text: string[] } | null {
  const found = data.columns.find(({ text }) => text && isProse(text)) ?? data.columns.find(({ text }) => text);
  return found ? { name: found.name, text: found.text! } : null;
}

function byText(data: MapData, level: Level, k: number): string | null {
  const member = membersOf(level, k)[0];
  const text = member === undefined ? undefined : proseOf(data)?.text[member];
  if (!text?.trim()) return null;
  const start = text.trim().slice(0, LONGEST + 1);
  return start.length <= LONGEST ? start : `${start.slice(0, LONGEST).replace(/\s+\S*$/, "")}…`;
}
