// A scene on a canvas: samples, marks, names, rings. The page and the PNG export draw with the same hand.

import type { Theme } from "./colors";
import type { MapData } from "./data";
import { drawLinks } from "./links";
import { areSquare, drawMark, RADIUS, tile, type Look } from "./marks";
import { NAME_FONT, placedNames, type PlacedName } from "./placing";
import { drawSamples, drawSampleRing, type Screen } from "./samples";
import type { Mark, Scene } from "./scene";
import type { Glyph, State } from "./state";

export interface Emphasis {
  hovered: number | null;
  selected: ReadonlySet<number>;
  /** Prototypes that a search found; null without a search. */
  found: ReadonlySet<number> | null;
  /** Samples that it found, one flag each; null without, and where prototypes were named. */
  foundSamples: Uint8Array | null;
  /** Samples with a ring: the one pointed at, the one selected. */
  samples: number[];
}

export interface Size {
  width: number;
  height: number;
}

/** Opacity of what a search did not find, and of what is not among several selected. */
const GREY = 0.12;
const BESIDE = 0.35;

export function paint(
  context: CanvasRenderingContext2D,
  data: MapData,
  state: State,
  scene: Scene,
  screen: Screen,
  theme: Theme,
  emphasis: Emphasis,
  ratio: number,
  names: PlacedName[],
): void {
  const [width, height] = [context.canvas.width / ratio, context.canvas.height / ratio];
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingQuality = scene.marks.length > 1000 ? "low" : "high";
  // Samples with places of their own stand upon the small marks; seeds around a mark lie under it.
  const over = scene.stage.level.samplePlaces !== null;
  const samples = () => {
    const device = { scale: screen.scale * ratio, x: screen.x * ratio, y: screen.y * ratio, markScale: screen.markScale * ratio };
    if (state.samples && scene.still) drawSamples(context, data, scene.stage, device, theme, emphasis, ratio);
  };
  if (state.links && scene.still) drawLinks(context, scene.stage, screen, theme, emphasis);
  if (!over) samples();
  const look: Look = { data, theme, glyph: state.glyph, ink: state.ink };
  for (const mark of visible(scene, screen, { width, height })) {
    const side = mark.side * screen.markScale;
    const [x, y] = [mark.x * screen.scale + screen.x, mark.y * screen.scale + screen.y];
    context.globalAlpha = mark.alpha * opacity(mark, scene, emphasis);
    drawMark(context, look, mark, x, y, side);
  }
  context.globalAlpha = 1;
  if (over) samples();
  if (scene.still) {
    drawRings(context, scene, screen, theme, emphasis, state.glyph);
    if (state.samples) for (const sample of emphasis.samples) drawSampleRing(context, data, scene.stage, screen, theme, sample);
    drawNames(context, theme, names);
  }
}

/** The marks in a window, in the order of drawing. */
export function visible(scene: Scene, screen: Screen, { width, height }: Size): Mark[] {
  return scene.marks.filter((mark) => {
    const side = mark.side * screen.markScale;
    const [x, y] = [mark.x * screen.scale + screen.x, mark.y * screen.scale + screen.y];
    return x + side >= 0 && y + side >= 0 && x - side <= width && y - side <= height;
  });
}

/** Names of the marks in a window that are in full colour. */
export function namesIn(data: MapData, state: State, scene: Scene, screen: Screen, emphasis: Emphasis, window: Size): PlacedName[] {
  if (!state.names || !scene.still) return [];
  return placedNames(data, screen, visible(scene, screen, window).filter((mark) => opacity(mark, scene, emphasis) === 1), window);
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
    if (areSquare(scene.stage, glyph)) {
      const [width, height] = tile(mark, side);
      context.roundRect(x - width / 2 - 2, y - height / 2 - 2, width + 4, height + 4, 5);
    } else {
      context.arc(x, y, side * RADIUS + 2, 0, 2 * Math.PI);
    }
    context.stroke();
  }
}

/** Names with a halo of the ground, so that they can be read on marks. */
export function drawNames(context: CanvasRenderingContext2D, theme: Theme, names: PlacedName[]): void {
  context.font = NAME_FONT;
  context.textAlign = "center";
  context.textBaseline = "top";
  context.lineJoin = "round";
  context.strokeStyle = theme.muted;
  context.lineWidth = 1;
  context.beginPath();
  for (const { line } of names) {
    if (!line) continue;
    context.moveTo(line[0], line[1]);
    context.lineTo(line[2], line[3]);
  }
  context.stroke();
  context.strokeStyle = theme.paper;
  context.lineWidth = 4;
  context.fillStyle = theme.ink;
  for (const { text, x, y } of names) {
    context.strokeText(text, x, y);
    context.fillText(text, x, y);
  }
}
