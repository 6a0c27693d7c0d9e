// Where marks stand, and how large: areas in proportion to weights, on a page whose width is 1000 units.
// Marks that cover each other are pushed apart while a weak pull brings them home, so neighbours stay neighbours.
// crates/gromap-report/src/layout.rs does the same for the static SVG.

import type { Level } from "./data";

/** Share of the page that marks fill at size 1. */
const COVER = 0.32;
/** Share of the page's width that the largest may have. */
const LARGEST = 0.17;
/** Steps of pushing apart, the last of them without the pull: what still covers each other then parts. */
const STEPS = 160;
const FREE = 0.25;
const PULL = 0.02;
/** How far apart the middles of two marks should be, in the sum of their sides: side by side, and corner to corner of tiles. */
const BESIDE = 0.56;
const CORNERS = 0.75;

const WIDTH = 1000;
/** Share of a page that is shown at least, in width and height. */
const LEAST_EXTENT = 0.6;
/** Share of the weight that may lie beyond each end of a page, or one prototype of this weight, and how much wider all of it must
 *  be for that: a few far prototypes would squeeze the others. */
const TAIL = 0.02;
const LIGHT = 0.05;
const SQUEEZED = 1.6;

/** How a level lies on its page, whose middle is the origin. Every level fills its page: maps of few prototypes may be
 *  much smaller than those of many, and would be a heap in its middle. */
export interface Frame {
  height: number;
  /** How far the map is turned, in radians. */
  turn: number;
  /** Page units per unit of the map, and the middle of the map. */
  scale: number;
  x: number;
  y: number;
  axes: [number, number];
}

export interface Layout {
  /** Places on the page: where marks are drawn, and where they belong. */
  x: Float64Array;
  y: Float64Array;
  homeX: Float64Array;
  homeY: Float64Array;
  /** Side of a square of the mark's area. */
  side: Float64Array;
}

/** A map of two dimensions has no up: it is turned so that it is widest from left to right. */
export function turnOf(level: Level): number {
  if (level.dims !== 2) return 0;
  const mean = [0, 1].map((axis) => level.weights.reduce((sum, weight, k) => sum + weight * coordinate(level, k, axis), 0));
  let [xx, xy, yy] = [0, 0, 0];
  level.weights.forEach((weight, k) => {
    const [x, y] = [coordinate(level, k, 0) - mean[0], coordinate(level, k, 1) - mean[1]];
    xx += weight * x * x;
    xy += weight * x * y;
    yy += weight * y * y;
  });
  // The direction of the largest variance; a map as wide as high stays as it is.
  return Math.hypot(xx - yy, 2 * xy) > 0.02 * (xx + yy) ? -Math.atan2(2 * xy, xx - yy) / 2 : 0;
}

/** From where to where most of the weight lies along an axis; everything, unless the rest is far away. */
export function central(values: Float64Array, weights: Float64Array): [number, number] {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const whole = weights.reduce((a, b) => a + b, 0);
  const beyond = (from: number[]) => {
    let sum = 0;
    return values[from.find((k, i) => (sum += weights[k]) > (i ? TAIL : LIGHT) * whole) ?? from[0]];
  };
  const [least, most] = [values[order[0]], values[order[order.length - 1]]];
  const [low, high] = [beyond(order), beyond(order.slice().reverse())];
  return high > low && most - least > SQUEEZED * (high - low) ? [low, high] : [least, most];
}

export function frame(level: Level, axes: [number, number], turn: number): Frame {
  const places = Array.from({ length: level.prototypes }, (_, k) => turned(turn, coordinate(level, k, axes[0]), coordinate(level, k, axes[1])));
  const ends = [0, 1].map((i) => central(Float64Array.from(places, (place) => place[i]), level.weights));
  const [low, high] = [ends.map((end) => end[0]), ends.map((end) => end[1])];
  const [width, height] = [high[0] - low[0], high[1] - low[1]];
  const pageHeight = WIDTH * Math.min(1.1, Math.max(0.5, width > 0 ? height / width : 1));
  // The margin holds half of a large mark.
  const margin = 0.14 * WIDTH;
  const scale = Math.min(width > 0 ? (WIDTH - margin) / width : Infinity, height > 0 ? (pageHeight - margin) / height : Infinity);
  return {
    height: pageHeight,
    turn,
    scale: Number.isFinite(scale) ? scale : 0,
    x: low[0] + width / 2,
    y: low[1] + height / 2,
    axes,
  };
}

export interface Box {
  /** Its middle. */
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The box of marks that belong on the page, or of all: those far from it are left out of the first. */
export function bounds({ x, y, side, homeX, homeY }: Layout, page: Frame, all: boolean): Box {
  const away = (k: number) => Math.abs(homeX[k]) > 0.51 * WIDTH || Math.abs(homeY[k]) > 0.51 * page.height;
  const [low, high] = [[Infinity, Infinity], [-Infinity, -Infinity]];
  for (let k = 0; k < side.length; k++) {
    if (!all && away(k)) continue;
    // Discs are a little wider than squares of the same area.
    const half = 0.57 * side[k];
    low[0] = Math.min(low[0], x[k] - half);
    low[1] = Math.min(low[1], y[k] - half);
    high[0] = Math.max(high[0], x[k] + half);
    high[1] = Math.max(high[1], y[k] + half);
  }
  const [width, height] = [high[0] - low[0], high[1] - low[1]];
  // A single mark does not fill the window.
  const small = Math.max(width, height) < LEAST_EXTENT * WIDTH;
  return {
    x: (low[0] + high[0]) / 2,
    y: (low[1] + high[1]) / 2,
    width: small ? LEAST_EXTENT * WIDTH : width,
    height: small ? LEAST_EXTENT * WIDTH : height,
  };
}

/** A coordinate of a prototype; axes that the map does not have are zero. */
export function coordinate(level: Level, k: number, axis: number): number {
  return axis < level.dims ? level.places[k * level.dims + axis] : 0;
}

function turned(angle: number, x: number, y: number): [number, number] {
  const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
  return [cos * x - sin * y, sin * x + cos * y];
}

export function onPage(frame: Frame, mapX: number, mapY: number): [number, number] {
  const [x, y] = turned(frame.turn, mapX, mapY);
  return [(x - frame.x) * frame.scale, -(y - frame.y) * frame.scale];
}

export function layout(level: Level, page: Frame, size: number, spread: boolean): Layout {
  const n = level.prototypes;
  const heaviest = level.weights.reduce((a, b) => Math.max(a, b), 0);
  const unit = size * size * Math.min(COVER * WIDTH * page.height, (LARGEST * WIDTH) ** 2 / heaviest);
  const found: Layout = {
    x: new Float64Array(n),
    y: new Float64Array(n),
    homeX: new Float64Array(n),
    homeY: new Float64Array(n),
    side: level.weights.map((weight) => Math.sqrt(unit * weight)),
  };
  for (let k = 0; k < n; k++) {
    [found.homeX[k], found.homeY[k]] = onPage(page, coordinate(level, k, page.axes[0]), coordinate(level, k, page.axes[1]));
  }
  found.x.set(found.homeX);
  found.y.set(found.homeY);
  if (spread) pushApart(found);
  return found;
}

function pushApart(marks: Layout): void {
  const cell = 2 * CORNERS * marks.side.reduce((a, b) => Math.max(a, b), 0);
  // Thousands of marks are settled in fewer steps: more would be felt as a wait.
  const steps = marks.side.length > 1000 ? 25 : STEPS;
  for (let step = 0; step < steps; step++) {
    let moved = false;
    forNearPairs(marks, cell, (a, b) => {
      if (part(marks, a, b)) moved = true;
    });
    if (!moved) break;
    if (step >= (1 - FREE) * steps) continue;
    for (let k = 0; k < marks.side.length; k++) {
      marks.x[k] += PULL * (marks.homeX[k] - marks.x[k]);
      marks.y[k] += PULL * (marks.homeY[k] - marks.y[k]);
    }
  }
}

/** Moves two marks apart by part of what they cover, the lighter one more. */
function part(marks: Layout, a: number, b: number): boolean {
  let [dx, dy] = [marks.x[b] - marks.x[a], marks.y[b] - marks.y[a]];
  const distance = Math.hypot(dx, dy);
  const slant = distance > 0 ? distance / Math.max(Math.abs(dx), Math.abs(dy)) : 1;
  const wanted = Math.min(CORNERS, BESIDE * slant) * (marks.side[a] + marks.side[b]);
  if (distance >= wanted) return false;
  if (distance < 1e-9 * wanted) {
    // In one place: each pair parts in a direction of its own.
    const angle = 2.399963229728653 * (a * 31 + b);
    [dx, dy] = [Math.cos(angle), Math.sin(angle)];
  } else {
    [dx, dy] = [dx / distance, dy / distance];
  }
  const step = 0.5 * (wanted - distance);
  const share = marks.side[b] / (marks.side[a] + marks.side[b]);
  marks.x[a] -= step * share * dx;
  marks.y[a] -= step * share * dy;
  marks.x[b] += step * (1 - share) * dx;
  marks.y[b] += step * (1 - share) * dy;
  return true;
}

/** Visits pairs of marks in the same cell of a grid or in cells next to each other. */
function forNearPairs(marks: Layout, cell: number, visit: (a: number, b: number) => void): void {
  if (!(cell > 0)) return;
  const cells = new Map<number, number[]>();
  const key = (column: number, row: number) => row * 100_003 + column;
  const columns = marks.x.map((x) => Math.floor(x / cell));
  const rows = marks.y.map((y) => Math.floor(y / cell));
  for (let k = 0; k < columns.length; k++) {
    const at = key(columns[k], rows[k]);
    const found = cells.get(at);
    if (found) found.push(k);
    else cells.set(at, [k]);
  }
  for (let k = 0; k < columns.length; k++) {
    for (let row = rows[k] - 1; row <= rows[k] + 1; row++) {
      for (let column = columns[k] - 1; column <= columns[k] + 1; column++) {
        for (const other of cells.get(key(column, row)) ?? []) if (other > k) visit(k, other);
      }
    }
  }
}
