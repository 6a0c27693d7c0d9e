// The layer of samples.
//
// Every sample has a place of its own among the prototypes. Where a map has none of these (it was made of other samples than
// its plan), samples are spread around their prototype like the seeds of a sunflower, those nearest to the mean inside.
// Past 100,000 samples their density is drawn instead.

import Flatbush from "flatbush";
import { rgb, type Theme } from "./colors";
import { labelsOf, samplePlace, type MapData } from "./data";
import { onPage } from "./layout";
import type { Emphasis } from "./painter";
import type { Stage } from "./scene";
import { canvas } from "./sprites";

export const MOST_DOTS = 100_000;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
/** Seeds lie between these distances from the middle of a mark, in sides of it. */
const INNER = 0.6;
const OUTER = 0.95;
const OPAQUE = 215;
const FAINT = 26;

/** How the map is laid on the screen, in pixels. */
export interface Screen {
  scale: number;
  x: number;
  y: number;
  /** Pixels per page unit for sizes of marks. */
  markScale: number;
}

/** Own places on the page, x and y of each sample in turn. */
const placesOf = new WeakMap<Stage["layout"], Float32Array>();

function ownPlaces(data: MapData, { level, layout, frame }: Stage): Float32Array {
  let places = placesOf.get(layout);
  if (!places) {
    places = new Float32Array(2 * data.samples);
    for (let i = 0; i < data.samples; i++) {
      const [x, y] = onPage(frame, samplePlace(level, i, frame.axes[0]), samplePlace(level, i, frame.axes[1]));
      places[2 * i] = x;
      places[2 * i + 1] = y;
    }
    placesOf.set(layout, places);
  }
  return places;
}

/** Visits the place of every sample on the screen, with its prototype where that is known at once. */
export function forSamples(data: MapData, stage: Stage, screen: Screen, visit: (sample: number, x: number, y: number) => void): void {
  const { level, layout } = stage;
  if (level.samplePlaces) {
    const places = ownPlaces(data, stage);
    for (let i = 0; i < data.samples; i++) visit(i, places[2 * i] * screen.scale + screen.x, places[2 * i + 1] * screen.scale + screen.y);
    return;
  }
  const [inner, outer] = [INNER ** 2, OUTER ** 2];
  for (let k = 0; k < level.prototypes; k++) {
    const [start, end] = [level.offsets[k], level.offsets[k + 1]];
    const side = layout.side[k] * screen.markScale;
    const [x, y] = [layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y];
    for (let i = start; i < end; i++) {
      if (level.shares && level.shares[i] < 0.5) continue;
      const rank = i - start;
      const radius = side * Math.sqrt(inner + ((outer - inner) * (rank + 0.5)) / (end - start));
      visit(level.members[i], x + radius * Math.cos(rank * GOLDEN), y + radius * Math.sin(rank * GOLDEN));
    }
  }
}

const trees = new WeakMap<Stage["layout"], Flatbush>();

/** The sample nearest to a point of the screen within a reach, or null; only those with places of their own can be pointed at. */
export function sampleAt(data: MapData, stage: Stage, screen: Screen, x: number, y: number, reach: number): number | null {
  if (!stage.level.samplePlaces || data.samples > MOST_DOTS) return null;
  let tree = trees.get(stage.layout);
  if (!tree) {
    const places = ownPlaces(data, stage);
    tree = new Flatbush(data.samples);
    for (let i = 0; i < data.samples; i++) tree.add(places[2 * i], places[2 * i + 1]);
    tree.finish();
    trees.set(stage.layout, tree);
  }
  return tree.neighbors((x - screen.x) / screen.scale, (y - screen.y) / screen.scale, 1, reach / screen.scale)[0] ?? null;
}

/** Where a sample stands on the screen; null where it has no place of its own. */
export function sampleOn(data: MapData, stage: Stage, screen: Screen, sample: number): [number, number] | null {
  if (!stage.level.samplePlaces || sample >= data.samples) return null;
  const places = ownPlaces(data, stage);
  return [places[2 * sample] * screen.scale + screen.x, places[2 * sample + 1] * screen.scale + screen.y];
}

export function drawSampleRing(context: CanvasRenderingContext2D, data: MapData, stage: Stage, screen: Screen, theme: Theme, sample: number): void {
  const place = sampleOn(data, stage, screen, sample);
  if (!place) return;
  context.strokeStyle = theme.ink;
  context.lineWidth = 2;
  context.beginPath();
  context.arc(place[0], place[1], 7, 0, 2 * Math.PI);
  context.stroke();
}

/** The colour of each sample as an index into a palette: by its own value, or by its prototype. */
export function sampleColors(data: MapData, { level, coloring }: Stage): { palette: string[]; of: ArrayLike<number> } {
  return coloring.samples ?? { palette: coloring.of, of: labelsOf(data, level) };
}

/** Radius of a dot: fewer are larger, and all grow a little with the zoom. */
export function dotRadius(data: MapData, screen: Screen, ratio: number): number {
  const few = 2.6 * (2000 / Math.max(400, data.samples)) ** 0.25;
  return Math.min(5, Math.max(0.7, few * (screen.scale / ratio) ** 0.3)) * ratio;
}

/** Draws dots or their density; the screen counts pixels of the canvas. */
export function drawSamples(context: CanvasRenderingContext2D, data: MapData, stage: Stage, screen: Screen, theme: Theme, emphasis: Emphasis, ratio = 1): void {
  const [layer] = data.samples > MOST_DOTS ? density(context.canvas, data, stage, screen, theme) : dots(context.canvas, data, stage, screen, emphasis, ratio);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(layer, 0, 0, context.canvas.width, context.canvas.height);
  context.restore();
}

/** Written pixel by pixel: a hundred thousand arcs would take a second. */
function dots({ width, height }: HTMLCanvasElement, data: MapData, stage: Stage, screen: Screen, { foundSamples, found, selected }: Emphasis, ratio: number) {
  const [layer, onto] = canvas(width, height);
  const image = onto.createImageData(width, height);
  const words = new Uint32Array(image.data.buffer);
  const { palette, of } = sampleColors(data, stage);
  // Little-endian, as the bytes of every browser's machine: alpha, blue, green, red.
  const shades = palette.map((color) => {
    const [r, g, b] = rgb(color);
    return (b << 16) | (g << 8) | r;
  });
  const labels = found || selected.size > 1 ? labelsOf(data, stage.level) : null;
  const greyed = (sample: number) => {
    if (foundSamples) return !foundSamples[sample];
    if (found) return !found.has(labels![sample]);
    return selected.size > 1 && !selected.has(labels![sample]);
  };
  const radius = dotRadius(data, screen, ratio);
  const disc = discOf(radius);
  forSamples(data, stage, screen, (sample, x, y) => {
    if (x < -radius || y < -radius || x > width + radius || y > height + radius) return;
    const color = ((greyed(sample) ? FAINT : OPAQUE) << 24) | shades[of[sample]];
    const [left, top] = [Math.round(x), Math.round(y)];
    for (let i = 0; i < disc.length; i += 2) {
      const [column, row] = [left + disc[i], top + disc[i + 1]];
      if (row >= 0 && row < height && column >= 0 && column < width) words[row * width + column] = color;
    }
  });
  onto.putImageData(image, 0, 0);
  return [layer];
}

/** The pixels of a disc, as pairs. */
function discOf(radius: number): Int8Array {
  const found: number[] = [];
  const reach = Math.floor(radius);
  for (let y = -reach; y <= reach; y++) {
    for (let x = -reach; x <= reach; x++) if (x * x + y * y <= radius * radius + 0.8) found.push(x, y);
  }
  return Int8Array.from(found);
}

/** Counts in cells of four pixels, as more or less ink. */
function density(page: HTMLCanvasElement, data: MapData, stage: Stage, screen: Screen, theme: Theme) {
  const cell = 4;
  const [width, height] = [Math.ceil(page.width / cell), Math.ceil(page.height / cell)];
  const counts = new Float32Array(width * height);
  forSamples(data, stage, screen, (_, x, y) => {
    const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
    if (column >= 0 && column < width && row >= 0 && row < height) counts[row * width + column]++;
  });
  const [layer, onto] = canvas(width, height);
  const image = onto.createImageData(width, height);
  const [r, g, b] = rgb(theme.muted);
  const typical = mean(counts);
  for (let i = 0; i < counts.length; i++) {
    image.data.set([r, g, b, Math.round(200 * (1 - Math.exp(-counts[i] / (2 * typical))))], 4 * i);
  }
  onto.putImageData(image, 0, 0);
  return [layer];
}

/** The mean of what is not zero. */
function mean(counts: Float32Array): number {
  let [sum, cells] = [0, 0];
  for (const count of counts) {
    if (count > 0) {
      sum += count;
      cells++;
    }
  }
  return cells ? sum / cells : 1;
}
