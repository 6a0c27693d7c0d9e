// The faint layer of samples under the marks.
//
// A plan that gives each sample to one prototype puts all of them in one place; they are spread around it like the seeds
// of a sunflower, those nearest to the mean inside. Where a sample is shared, it stands between those that share it.
// Past 100,000 samples their density is drawn instead.

import { classColor, rgb, type Theme } from "./colors";
import type { MapData } from "./data";
import { onPage } from "./layout";
import type { Stage } from "./scene";
import { canvas } from "./sprites";

export const MOST_DOTS = 100_000;
const GOLDEN = Math.PI * (3 - Math.sqrt(5));
/** Seeds lie between these distances from the middle of a mark, in sides of it. */
const INNER = 0.6;
const OUTER = 0.95;

/** How the map is laid on the screen, in pixels. */
export interface Screen {
  scale: number;
  x: number;
  y: number;
  /** Pixels per page unit for sizes of marks. */
  markScale: number;
}

/** Visits the place of every sample on the screen. */
export function forSamples(stage: Stage, screen: Screen, visit: (sample: number, x: number, y: number) => void): void {
  const { level, layout, frame } = stage;
  const [inner, outer] = [INNER ** 2, OUTER ** 2];
  for (let k = 0; k < level.prototypes; k++) {
    const [start, end] = [level.offsets[k], level.offsets[k + 1]];
    const side = layout.side[k] * screen.markScale;
    const [x, y] = [layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y];
    for (let i = start; i < end; i++) {
      const share = level.shares ? level.shares[i] : 1;
      if (share < 0.5) continue;
      if (level.embedding && share < 0.999) {
        const at = level.members[i] * level.dims;
        const place = (axis: number) => (axis < level.dims ? level.embedding![at + axis] : 0);
        const [px, py] = onPage(frame, place(frame.axes[0]), place(frame.axes[1]));
        visit(level.members[i], px * screen.scale + screen.x, py * screen.scale + screen.y);
      } else {
        const rank = i - start;
        const radius = side * Math.sqrt(inner + ((outer - inner) * (rank + 0.5)) / (end - start));
        visit(level.members[i], x + radius * Math.cos(rank * GOLDEN), y + radius * Math.sin(rank * GOLDEN));
      }
    }
  }
}

/** Draws dots or their density; the screen counts pixels of the canvas. */
export function drawSamples(context: CanvasRenderingContext2D, data: MapData, stage: Stage, screen: Screen, theme: Theme, byClass: boolean): void {
  const { width, height } = context.canvas;
  if (data.samples > MOST_DOTS) drawDensity(context, stage, screen, theme);
  else {
    const [layer, dots] = canvas(width, height);
    const image = dots.createImageData(width, height);
    const words = new Uint32Array(image.data.buffer);
    const words32 = (color: string) => {
      const [r, g, b] = rgb(color);
      // Little-endian, as the bytes of every browser's machine: alpha, blue, green, red.
      return (150 << 24) | (b << 16) | (g << 8) | r;
    };
    const plain = words32(theme.muted);
    const colors = byClass && data.classes ? data.classes.names.map((_, i) => words32(classColor(data, i, theme))) : null;
    const size = Math.max(1, Math.round(Math.min(3, 1.2 + Math.log2(screen.scale + 1))));
    forSamples(stage, screen, (sample, x, y) => {
      const color = colors ? colors[data.classes!.of[sample]] : plain;
      const [left, top] = [Math.round(x), Math.round(y)];
      for (let row = top; row < top + size; row++) {
        for (let column = left; column < left + size; column++) {
          if (row >= 0 && row < height && column >= 0 && column < width) words[row * width + column] = color;
        }
      }
    });
    dots.putImageData(image, 0, 0);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(layer, 0, 0);
    context.restore();
  }
}

/** Counts in cells of four pixels, as more or less ink. */
function drawDensity(context: CanvasRenderingContext2D, stage: Stage, screen: Screen, theme: Theme): void {
  const cell = 4;
  const [width, height] = [Math.ceil(context.canvas.width / cell), Math.ceil(context.canvas.height / cell)];
  const counts = new Float32Array(width * height);
  forSamples(stage, screen, (_, x, y) => {
    const [column, row] = [Math.floor(x / cell), Math.floor(y / cell)];
    if (column >= 0 && column < width && row >= 0 && row < height) counts[row * width + column]++;
  });
  const [layer, dots] = canvas(width, height);
  const image = dots.createImageData(width, height);
  const [r, g, b] = rgb(theme.muted);
  const typical = mean(counts);
  for (let i = 0; i < counts.length; i++) {
    image.data.set([r, g, b, Math.round(170 * (1 - Math.exp(-counts[i] / (2 * typical))))], 4 * i);
  }
  dots.putImageData(image, 0, 0);
  context.save();
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.imageSmoothingEnabled = true;
  context.drawImage(layer, 0, 0, width * cell, height * cell);
  context.restore();
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
