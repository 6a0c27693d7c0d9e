// A scene on a canvas: samples, marks, names, rings. The page and the PNG export draw with the same hand.

import type { Theme } from "./colors";
import type { MapData } from "./data";
import { short } from "./dom";
import { drawMark, isSquare, RADIUS, tile, type Look } from "./marks";
import { drawSamples, type Screen } from "./samples";
import type { Mark, Scene } from "./scene";
import { canvas } from "./sprites";
import type { Glyph, State } from "./state";

export interface Emphasis {
  hovered: number | null;
  selected: ReadonlySet<number>;
  /** Prototypes that a search found; null without a search. */
  found: ReadonlySet<number> | null;
}

/** Opacity of what a search did not find, and of what is not among several selected. */
const GREY = 0.12;
const BESIDE = 0.35;

export const FONT = 'Inter, "SF Pro Text", "Segoe UI", system-ui, -apple-system, "Helvetica Neue", Arial, sans-serif';

export function paint(
  context: CanvasRenderingContext2D,
  data: MapData,
  state: State,
  scene: Scene,
  screen: Screen,
  theme: Theme,
  emphasis: Emphasis,
  ratio: number,
): void {
  const [width, height] = [context.canvas.width / ratio, context.canvas.height / ratio];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingQuality = scene.marks.length > 1000 ? "low" : "high";
  if (state.samples && scene.still) {
    const device = { scale: screen.scale * ratio, x: screen.x * ratio, y: screen.y * ratio, markScale: screen.markScale * ratio };
    drawSamples(context, data, scene.stage, device, theme, state.color === "class");
  }
  const look: Look = { data, theme, glyph: state.glyph, ink: state.ink };
  const visible: Mark[] = [];
  for (const mark of scene.marks) {
    const side = mark.side * screen.markScale;
    const [x, y] = [mark.x * screen.scale + screen.x, mark.y * screen.scale + screen.y];
    if (x + side < 0 || y + side < 0 || x - side > width || y - side > height) continue;
    visible.push(mark);
    context.globalAlpha = mark.alpha * opacity(mark, scene, emphasis);
    drawMark(context, look, mark, x, y, side);
  }
  context.globalAlpha = 1;
  if (scene.still) {
    drawRings(context, scene, screen, theme, emphasis, state.glyph);
    if (state.names && data.classes) drawNames(context, data, scene, screen, theme, visible, emphasis);
  }
}

export function opacity(mark: Mark, scene: Scene, { found, selected }: Emphasis): number {
  if (mark.stage !== scene.stage) return 1;
  if (found && !found.has(mark.k)) return GREY;
  return selected.size > 1 && !selected.has(mark.k) ? BESIDE : 1;
}

/** Lines around what is selected or pointed at, and from a mark that was moved to the place it stands for. */
function drawRings(context: CanvasRenderingContext2D, scene: Scene, screen: Screen, theme: Theme, emphasis: Emphasis, glyph: Glyph): void {
  const ringed = new Set(emphasis.selected);
  if (emphasis.hovered !== null) ringed.add(emphasis.hovered);
  const { layout, level } = scene.stage;
  for (const k of ringed) {
    if (k >= level.prototypes) continue;
    const mark: Mark = { stage: scene.stage, k, x: layout.x[k], y: layout.y[k], side: layout.side[k], alpha: 1 };
    const side = mark.side * screen.markScale;
    const [x, y] = [mark.x * screen.scale + screen.x, mark.y * screen.scale + screen.y];
    const [homeX, homeY] = [layout.homeX[k] * screen.scale + screen.x, layout.homeY[k] * screen.scale + screen.y];
    context.strokeStyle = theme.ink;
    context.fillStyle = theme.ink;
    if (Math.hypot(homeX - x, homeY - y) > 3) {
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(homeX, homeY);
      context.stroke();
      context.beginPath();
      context.arc(homeX, homeY, 3, 0, 2 * Math.PI);
      context.fill();
    }
    context.lineWidth = emphasis.selected.has(k) ? 2.5 : 1.5;
    context.beginPath();
    if (isSquare(mark, glyph)) {
      const [width, height] = tile(mark, side);
      context.roundRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4, 5);
    } else {
      context.arc(x, y, side * RADIUS + 2, 0, 2 * Math.PI);
    }
    context.stroke();
  }
}

const NAME_FONT = `600 12px ${FONT}`;

function drawNames(
  context: CanvasRenderingContext2D,
  data: MapData,
  scene: Scene,
  screen: Screen,
  theme: Theme,
  visible: Mark[],
  emphasis: Emphasis,
): void {
  context.font = NAME_FONT;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  context.strokeStyle = theme.paper;
  context.lineWidth = 4;
  context.fillStyle = theme.ink;
  for (const { text, x, y } of placedNames(data, scene, screen, visible, emphasis)) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}

/** The name of each class once, under its heaviest mark in sight, where there is room. */
export function placedNames(data: MapData, scene: Scene, screen: Screen, visible: Mark[], emphasis: Emphasis): { text: string; x: number; y: number }[] {
  const named = new Map<number, Mark>();
  for (const mark of visible) {
    const found = mark.stage.majority[mark.k];
    if (found !== null && !named.has(found) && opacity(mark, scene, emphasis) === 1) named.set(found, mark);
  }
  const [, measure] = canvas(1, 1);
  measure.font = NAME_FONT;
  const placed: { text: string; x: number; y: number; half: number }[] = [];
  for (const [of, mark] of named) {
    const height = mark.stage.sprites ? tile(mark, mark.side)[1] : 2 * RADIUS * mark.side;
    const text = short(data.classes!.names[of], 24);
    const x = mark.x * screen.scale + screen.x;
    const y = mark.y * screen.scale + screen.y + (height / 2) * screen.markScale + 3;
    const half = measure.measureText(text).width / 2 + 3;
    const covered = placed.some((other) => Math.abs(other.x - x) < other.half + half && Math.abs(other.y - y) < 15);
    if (!covered) placed.push({ text, x, y, half });
  }
  return placed;
}
