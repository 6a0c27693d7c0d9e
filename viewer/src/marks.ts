// One mark on a canvas: disc, pie of classes, picture or profile. `figure.ts` writes the same in SVG.

import { classColor, mixed, type Theme } from "./colors";
import type { MapData } from "./data";
import type { Mark, Stage } from "./scene";
import type { Glyph } from "./state";

/** What all marks of a drawing share. */
export interface Look {
  data: MapData;
  theme: Theme;
  glyph: Glyph;
  ink: boolean;
}

/** A disc of the area of a square. */
export const RADIUS = 1 / Math.sqrt(Math.PI);

/** Width and height of a picture's tile of the area of a square. */
export function tile(mark: Mark, side: number): [number, number] {
  const { sprites } = mark.stage;
  const ratio = sprites ? Math.sqrt(sprites.width / sprites.height) : 1;
  return [side * ratio, side / ratio];
}

/** Whether the marks of a level are squares or tiles; discs and pies are round. */
export function areSquare(stage: Stage, glyph: Glyph): boolean {
  return stage.sprites !== null || (glyph === "profile" && stage.level.profiles !== null);
}

/** Width of the frame around a picture. */
export function border(side: number): number {
  return Math.min(4, Math.max(0.6, 0.045 * side));
}

export function drawMark(context: CanvasRenderingContext2D, look: Look, mark: Mark, x: number, y: number, side: number): void {
  if (mark.stage.sprites) drawPicture(context, look, mark, x, y, side);
  else if (look.glyph === "profile" && mark.stage.level.profiles) drawProfile(context, look, mark, x, y, side);
  else if (mark.stage.pies && side * RADIUS > 2.5) drawPie(context, look, mark, x, y, side * RADIUS);
  else drawDisc(context, look, mark, x, y, side * RADIUS);
}

function drawDisc(context: CanvasRenderingContext2D, look: Look, mark: Mark, x: number, y: number, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.fillStyle = mark.stage.coloring.of[mark.k];
  context.fill();
  if (radius > 3) outline(context, look, mark, look.theme.paper, Math.min(1.25, 0.15 * radius));
}

/** The line around a mark: broken where the class shares its hue with an earlier one. */
function outline(context: CanvasRenderingContext2D, look: Look, mark: Mark, color: string, width: number): void {
  const broken = isBroken(mark);
  context.strokeStyle = broken ? look.theme.ink : color;
  context.lineWidth = width;
  if (broken) context.setLineDash([3, 3]);
  context.stroke();
  if (broken) context.setLineDash([]);
}

export function isBroken(mark: Mark): boolean {
  return mark.stage.coloring.broken?.[mark.k] ?? false;
}

function drawPie(context: CanvasRenderingContext2D, look: Look, mark: Mark, x: number, y: number, radius: number): void {
  let angle = -Math.PI / 2;
  for (const { of, share } of mark.stage.pies![mark.k]) {
    context.beginPath();
    context.moveTo(x, y);
    context.arc(x, y, radius, angle, (angle += 2 * Math.PI * share));
    context.fillStyle = classColor(look.data, of, look.theme);
    context.fill();
  }
  context.beginPath();
  context.arc(x, y, radius, 0, 2 * Math.PI);
  context.strokeStyle = look.theme.paper;
  context.lineWidth = 1;
  context.stroke();
}

function drawPicture(context: CanvasRenderingContext2D, look: Look, mark: Mark, x: number, y: number, side: number): void {
  const [width, height] = tile(mark, side);
  const line = border(side);
  const [left, top] = [x - width / 2, y - height / 2];
  const color = mark.stage.coloring.of[mark.k];
  const ink = look.ink && look.data.pictures?.channels === 1;
  context.fillStyle = ink ? tint(color, look.theme) : color;
  if (side < 20) {
    context.fillRect(left, top, width, height);
  } else {
    context.beginPath();
    context.roundRect(left, top, width, height, 1.6 * line);
    context.fill();
    if (isBroken(mark)) outline(context, look, mark, color, 1);
  }
  mark.stage.sprites!.draw(context, mark.k, left + line, top + line, width - 2 * line, height - 2 * line);
}

/** The ground of pictures drawn as ink. */
export function tint(color: string, theme: Theme): string {
  return mixed(color, theme.surface, theme.dark ? 0.8 : 0.88);
}

function drawProfile(context: CanvasRenderingContext2D, look: Look, mark: Mark, x: number, y: number, side: number): void {
  const color = mark.stage.coloring.of[mark.k];
  const [left, top] = [x - side / 2, y - side / 2];
  context.fillStyle = tint(color, look.theme);
  context.beginPath();
  context.roundRect(left, top, side, side, 0.08 * side);
  context.fill();
  if (side > 12) outline(context, look, mark, mixed(color, look.theme.surface, 0.4), 1);
  context.fillStyle = color;
  for (const bar of bars(mark, side)) context.fillRect(left + bar.x, top + bar.y, bar.width, bar.height);
}

/** The bars of a profile within a square: up from the middle above the mean, down below it. */
export function bars(mark: Mark, side: number): { x: number; y: number; width: number; height: number }[] {
  const { bins, bars: scores } = mark.stage.level.profiles!;
  const inner = 0.84 * side;
  const step = inner / bins;
  return Array.from({ length: bins }, (_, bin) => {
    const score = Math.min(2, Math.max(-2, scores[mark.k * bins + bin])) / 2;
    const height = Math.max(0.5, (Math.abs(score) * inner) / 2);
    return { x: 0.08 * side + bin * step, y: side / 2 - (score > 0 ? height : 0), width: Math.max(0.5, 0.8 * step), height };
  });
}
