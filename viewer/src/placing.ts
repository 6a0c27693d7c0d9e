// Where labels stand: beside their marks, never upon each other, and not upon other marks if it can be helped.
//
// The heaviest marks choose first. A label tries its four sides, then places a little off with a line back to its mark, which
// crosses no other mark and no label; what finds no room is left out until there is more, closer by. A text that several marks
// share is said once in each region.

import { short } from "./dom";
import type { MapData } from "./data";
import { labelOf } from "./labels";
import { RADIUS, tile } from "./marks";
import type { Screen } from "./samples";
import type { Mark } from "./scene";
import { canvas } from "./sprites";

export const FONT = 'Inter, "SF Pro Text", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, sans-serif';
export const NAME_FONT = `600 12px ${FONT}`;

/** Height of a label, and the room around it. */
const LINE = 15;
const GAP = 3;
/** How near the same text may stand again. */
const REGION = 190;
/** Marks that are asked, labels that are placed. */
const ASKED = 500;
const PLACED = 140;
/** Beyond these, marks are too many to keep clear of, and only those of some size are named. */
const CROWD = 700;
const LEAST_SIZE = 16;
/** The share of a label that may lie on other marks: beside its mark, at the end of a line, and as a last resort of a text that
 *  stands nowhere yet, more for the first few. */
const BESIDE = 0.12;
const AWAY = 0.06;
const LAST_RESORT = [0.6, 0.15];
/** Directions in which a label is looked for at the end of a line. */
const TURNS = 16;
const FIRST = 6;

export interface PlacedName {
  text: string;
  /** Middle of its upper edge. */
  x: number;
  y: number;
  /** Where a line to its mark begins and ends; null when it stands beside it. */
  line: Line | null;
}

type Line = [number, number, number, number];

interface Box {
  x: number;
  y: number;
  /** Half of its width and height. */
  width: number;
  height: number;
}

/** Labels for marks in sight, given in the order in which they choose. */
export function placedNames(data: MapData, screen: Screen, marks: Mark[], window: { width: number; height: number }): PlacedName[] {
  const [, measure] = canvas(1, 1);
  measure.font = NAME_FONT;
  const boxes = marks.map((mark) => boxOf(mark, screen));
  const crowded = marks.length > CROWD;
  const taken: Box[] = [];
  const lines: Line[] = [];
  const said = new Map<string, Box[]>();
  const placed: PlacedName[] = [];
  for (let i = 0; i < Math.min(marks.length, ASKED) && placed.length < PLACED; i++) {
    const label = labelOf(data, marks[i].stage.level, marks[i].k);
    if (!label || (crowded && 2 * boxes[i].height < LEAST_SIZE)) continue;
    const [text, own] = [short(label, 32), boxes[i]];
    const before = said.get(text) ?? [];
    if (before.some((other) => Math.hypot(other.x - own.x, other.y - own.y) < REGION)) continue;
    const half = { width: measure.measureText(text).width / 2 + GAP, height: LINE / 2 };
    const inside = (box: Box) => box.x - half.width >= 0 && box.x + half.width <= window.width && box.y - half.height >= 0 && box.y + half.height <= window.height;
    const free = (box: Box) => inside(box) && !taken.some((other) => overlap(other, box) > 0) && !lines.some((line) => crosses(line, box));
    const clear = (line: Line) => !taken.some((box) => crosses(line, box)) && (crowded || !boxes.some((box, other) => other !== i && crosses(line, box)));
    const cover = (box: Box) => (crowded ? 0 : covered(box, boxes, i));
    // At the edge of the window it may stand a little beside the middle.
    const nudge = Math.max(half.width - own.x, Math.min(0, window.width - half.width - own.x));
    const shift = Math.abs(nudge) <= own.width ? nudge : 0;
    const found = choose(own, half, { shift, free, clear, cover }, before.length ? 0 : LAST_RESORT[Number(placed.length >= FIRST)]);
    if (!found) continue;
    taken.push(found.box);
    said.set(text, [...before, own]);
    if (found.line) lines.push(found.line);
    placed.push({ text, x: found.box.x, y: found.box.y - half.height + 1, line: found.line });
  }
  return placed;
}

function boxOf(mark: Mark, screen: Screen): Box {
  const side = mark.side * screen.markScale;
  const [width, height] = mark.stage.sprites ? tile(mark, side) : [2 * RADIUS * side, 2 * RADIUS * side];
  return { x: mark.x * screen.scale + screen.x, y: mark.y * screen.scale + screen.y, width: width / 2, height: height / 2 };
}

/** What is already there: how far a label above or below may have to stand aside, whether it finds room, whether a line is in
 *  nobody's way, how much of a label lies on marks. */
interface Room {
  shift: number;
  free(box: Box): boolean;
  clear(line: Line): boolean;
  cover(box: Box): number;
}

function choose(own: Box, half: { width: number; height: number }, { shift, free, clear, cover }: Room, resort: number): { box: Box; line: Line | null } | null {
  const at = (dx: number, dy: number): Box => ({ x: own.x + dx, y: own.y + dy, ...half });
  const [right, below] = [own.width + half.width + 1, own.height + half.height + 1];
  const beside = [at(shift, below), at(shift, -below), at(right, 0), at(-right, 0)].filter(free);
  const best = beside.find((box) => cover(box) <= BESIDE);
  if (best) return { box: best, line: null };
  for (const distance of [16, 34, 56, 80]) {
    for (let turn = 0; turn < TURNS; turn++) {
      const angle = Math.PI / 2 + (2 * Math.PI * turn) / TURNS;
      const box = at(Math.cos(angle) * (right + distance), Math.sin(angle) * (below + distance));
      if (!free(box) || cover(box) > AWAY) continue;
      const line = lineTo(own, box);
      if (clear(line)) return { box, line };
    }
  }
  const least = beside.map((box) => ({ box, share: cover(box) })).sort((a, b) => a.share - b.share)[0];
  return least && least.share <= resort ? { box: least.box, line: null } : null;
}

/** The area that two boxes share. */
function overlap(a: Box, b: Box): number {
  const width = Math.min(a.x + a.width, b.x + b.width) - Math.max(a.x - a.width, b.x - b.width);
  const height = Math.min(a.y + a.height, b.y + b.height) - Math.max(a.y - a.height, b.y - b.height);
  return width > 0 && height > 0 ? width * height : 0;
}

/** The share of a label that lies on marks other than its own. */
function covered(box: Box, marks: Box[], own: number): number {
  let sum = 0;
  for (let i = 0; i < marks.length; i++) if (i !== own) sum += overlap(box, marks[i]);
  return sum / (4 * box.width * box.height);
}

/** Whether a line runs through a box: what is left of it inside the two pairs of sides. */
function crosses([x, y, u, v]: Line, box: Box): boolean {
  let [from, to] = [0, 1];
  const sides: [number, number, number, number][] = [
    [x, u - x, box.x, box.width],
    [y, v - y, box.y, box.height],
  ];
  for (const [start, step, middle, half] of sides) {
    if (step === 0) {
      if (Math.abs(start - middle) >= half) return false;
      continue;
    }
    const ends = [(middle - half - start) / step, (middle + half - start) / step];
    from = Math.max(from, Math.min(...ends));
    to = Math.min(to, Math.max(...ends));
  }
  return from < to;
}

/** From the edge of a mark to the edge of its label. */
function lineTo(own: Box, label: Box): Line {
  const [dx, dy] = [label.x - own.x, label.y - own.y];
  const reach = (box: Box) => Math.min(Math.abs(box.width / (dx || 1e-9)), Math.abs(box.height / (dy || 1e-9)));
  const [start, end] = [reach(own), 1 - reach(label)];
  return [own.x + dx * start, own.y + dy * start, own.x + dx * end, own.y + dy * end];
}
