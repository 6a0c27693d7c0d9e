// Links between prototypes: the strongest, as lines under the marks, the thicker the more they carry.
//
// Of a graph they are its edges, of other data where the similarity of samples runs from one prototype to another.

import type { Theme } from "./colors";
import type { Level, MapData } from "./data";
import { percent } from "./dom";
import type { Emphasis } from "./painter";
import type { Screen } from "./samples";
import type { Stage } from "./scene";

/** Widths of the weakest link and of the strongest, in pixels. */
const THIN = 0.75;
const THICK = 7;
/** Opacities: as usual, of what is selected, and of what is beside it or was not found. */
const USUAL = 0.5;
const STRONG = 0.95;
const FAINT = 0.1;

export interface Link {
  from: number;
  to: number;
  share: number;
}

/** Whether any level has links. */
export function hasLinks(data: MapData): boolean {
  return data.levels.some(({ links }) => links !== null && links.share.length > 0);
}

/** What links are shares of. */
export function linkedBy(data: MapData): string {
  return data.graph ? "edges" : "similarity";
}

/** The links of a prototype, the strongest first. */
export function linksOf({ links }: Level, k: number): { other: number; share: number }[] {
  if (!links) return [];
  const found: { other: number; share: number }[] = [];
  for (let i = 0; i < links.share.length; i++) {
    if (links.from[i] === k) found.push({ other: links.to[i], share: links.share[i] });
    else if (links.to[i] === k) found.push({ other: links.from[i], share: links.share[i] });
  }
  return found.sort((a, b) => b.share - a.share || a.other - b.other);
}

export function strongestLink({ links }: Level): number {
  return links ? links.share.reduce((a, b) => Math.max(a, b), 0) : 0;
}

/** Width of the line of a share; lines of a tenth are seen as a third. */
export function linkWidth(share: number, strongest: number): number {
  return strongest > 0 ? Math.max(THIN, THICK * Math.sqrt(share / strongest)) : THIN;
}

/** Visits the lines of a level in a window, the weakest first, with how strongly they are drawn. */
function forLinks({ level, layout }: Stage, screen: Screen, { found, selected }: Emphasis, visit: (line: [number, number, number, number], width: number, alpha: number) => void): void {
  const { links } = level;
  if (!links) return;
  const strongest = strongestLink(level);
  const order = Array.from(links.share.keys()).sort((a, b) => links.share[a] - links.share[b]);
  const at = (k: number): [number, number] => [layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y];
  for (const i of order) {
    const [k, l] = [links.from[i], links.to[i]];
    const chosen = selected.size === 0 ? USUAL : selected.has(k) || selected.has(l) ? STRONG : FAINT;
    const alpha = found && !(found.has(k) && found.has(l)) ? FAINT : chosen;
    visit([...at(k), ...at(l)], linkWidth(links.share[i], strongest), alpha);
  }
}

export function drawLinks(context: CanvasRenderingContext2D, stage: Stage, screen: Screen, theme: Theme, emphasis: Emphasis): void {
  context.save();
  context.strokeStyle = theme.link;
  context.lineCap = "round";
  forLinks(stage, screen, emphasis, ([x, y, u, v], width, alpha) => {
    context.globalAlpha = alpha;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x, y);
    context.lineTo(u, v);
    context.stroke();
  });
  context.restore();
}

export function linksToSvg(stage: Stage, screen: Screen, theme: Theme, emphasis: Emphasis): string {
  const lines: string[] = [];
  forLinks(stage, screen, emphasis, (line, width, alpha) => {
    const [x1, y1, x2, y2] = line.map((value) => value.toFixed(2));
    lines.push(`<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke-width="${width.toFixed(2)}" opacity="${alpha}"/>`);
  });
  return `<g stroke="${theme.link}" stroke-linecap="round">${lines.join("")}</g>`;
}

/** What a line stands for, and its example: the strongest link of a level. */
export function linkLegend(data: MapData, level: Level): { text: string; width: number } | null {
  const strongest = strongestLink(level);
  return strongest > 0 ? { text: `link: ${percent(strongest)} of all ${linkedBy(data)}`, width: linkWidth(strongest, strongest) } : null;
}
