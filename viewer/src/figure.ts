// What the window shows as a file: vectors, or pixels at twice the size, with its legend below.

import { arc } from "d3-shape";
import { classColor, LIGHT, ramp, type Theme } from "./colors";
import type { MapData } from "./data";
import { percent, short, shown } from "./dom";
import { barNames, legendCategories, legendWeights, rampName } from "./legend";
import { linkLegend, linksToSvg } from "./links";
import { areSquare, bars, border, isBroken, RADIUS, tile, tint, type Look } from "./marks";
import { namesIn, opacity, paint, visible, type Emphasis } from "./painter";
import { FONT } from "./placing";
import { dotRadius, drawSamples, forSamples, MOST_DOTS, sampleColors, type Screen } from "./samples";
import type { Mark, Scene } from "./scene";
import { canvas } from "./sprites";
import type { State } from "./state";

/** Everything a figure is drawn from. */
export interface Figure {
  data: MapData;
  state: State;
  scene: Scene;
  screen: Screen;
  emphasis: Emphasis;
  width: number;
  height: number;
}

/** Dots that are written one by one; more go in as a picture. */
const MOST_VECTOR_DOTS = 20_000;
const LINE = 22;
const LEFT = 16;

interface LegendItem {
  x: number;
  y: number;
  text: string;
  mark: { kind: "swatch" | "square" | "round" | "line"; color: string; size: number; broken: boolean } | null;
}

/** The legend as things to draw, flowing in lines below the map, each as high as its largest mark. */
function legendItems({ data, state, scene, screen, width }: Figure, theme: Theme): { items: LegendItem[]; height: number } {
  const { stage } = scene;
  const [, measure] = canvas(1, 1);
  measure.font = `12px ${FONT}`;
  const lines: LegendItem[][] = [[]];
  let x = LEFT;
  const add = (text: string, mark: LegendItem["mark"]) => {
    const room = (mark ? mark.size + 7 : 0) + measure.measureText(text).width + 18;
    if (x + room > width && x > LEFT) {
      lines.push([]);
      x = LEFT;
    }
    lines[lines.length - 1].push({ x, y: 0, text, mark });
    x += room;
  };
  const { shown: words, others } = legendCategories(data, stage, state, theme);
  for (const { name, color, broken } of words) add(short(name, 24), { kind: "swatch", color, size: 11, broken });
  if (others) add(`and ${others} more`, null);
  if (!words.length && stage.coloring.values) {
    const { low, high } = stage.coloring;
    add(rampName(stage, state), null);
    for (const share of [0, 0.25, 0.5, 0.75, 1]) add(shown(low + (high - low) * share), { kind: "swatch", color: ramp(share, theme), size: 11, broken: false });
  }
  const named = barNames(data, stage, state);
  if (named !== null) add(named, null);
  const square = areSquare(stage, state.glyph);
  for (const { weight, size } of legendWeights(stage, square, screen.markScale)) {
    add(`${percent(weight)} of weight`, { kind: square ? "square" : "round", color: theme.muted, size, broken: false });
  }
  const link = state.links ? linkLegend(data, stage.level) : null;
  if (link) add(link.text, { kind: "line", color: theme.link, size: 20, broken: false });
  let height = 4;
  for (const line of lines) {
    const tallest = line.reduce((most, { mark }) => Math.max(most, mark && mark.kind !== "line" ? mark.size + 6 : 0), LINE);
    for (const item of line) item.y = height + tallest / 2;
    height += tallest;
  }
  return { items: lines.flat(), height: height + 4 };
}

/** The window as SVG. Without a ground it is transparent. */
export function toSvg(figure: Figure, ground: string | null): string {
  const { data, state, scene, screen, emphasis, width, height } = figure;
  const theme = LIGHT;
  const look: Look = { data, theme, glyph: state.glyph, ink: state.ink };
  const { items, height: below } = legendItems(figure, theme);
  const out = [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height + below}" viewBox="0 0 ${width} ${height + below}" font-family="${escaped(FONT)}" font-size="12" fill="${theme.ink}">`,
    `<title>${escaped(short(data.title, 400))}</title>`,
  ];
  if (ground) out.push(`<rect width="100%" height="100%" fill="${ground}"/>`);
  out.push(`<svg width="${width}" height="${height}">`);
  // In the order of the page: upon marks where samples have places of their own, under them otherwise.
  const over = scene.stage.level.samplePlaces !== null;
  if (state.links && scene.still) out.push(linksToSvg(scene.stage, screen, theme, emphasis));
  if (state.samples && !over) out.push(samplesToSvg(figure, theme));
  for (const mark of visible(scene, screen, { width, height })) {
    const side = mark.side * screen.markScale;
    const [x, y] = [mark.x * screen.scale + screen.x, mark.y * screen.scale + screen.y];
    const alpha = mark.alpha * opacity(mark, scene, emphasis);
    out.push(`<g${alpha < 1 ? ` opacity="${n(alpha)}"` : ""}>${markToSvg(look, mark, x, y, side)}</g>`);
  }
  if (state.samples && over) out.push(samplesToSvg(figure, theme));
  for (const name of namesIn(data, state, scene, screen, emphasis, { width, height })) {
    if (name.line) out.push(`<path d="M${name.line.slice(0, 2).map(n).join(" ")}L${name.line.slice(2).map(n).join(" ")}" stroke="${theme.muted}" fill="none"/>`);
    out.push(
      `<text x="${n(name.x)}" y="${n(name.y + 10)}" text-anchor="middle" font-weight="600" stroke="#ffffff" stroke-width="4" stroke-linejoin="round" paint-order="stroke">${escaped(name.text)}</text>`,
    );
  }
  out.push("</svg>", ...items.map((item) => itemToSvg(item, height)), "</svg>");
  return out.join("\n");
}

function n(value: number): string {
  return value.toFixed(2);
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" };
  // Characters that XML has no place for would make the file unreadable.
  return text.replace(/[&<>"']/g, (character) => names[character]).replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

function markToSvg(look: Look, mark: Mark, x: number, y: number, side: number): string {
  const color = mark.stage.coloring.of[mark.k];
  const line = isBroken(mark) ? ` stroke="${look.theme.ink}" stroke-dasharray="3 3"` : "";
  const { sprites, pies, level } = mark.stage;
  if (sprites) {
    const [width, height] = tile(mark, side);
    const edge = border(side);
    const [left, top] = [x - width / 2, y - height / 2];
    const ground = look.ink && look.data.pictures?.channels === 1 ? tint(color, look.theme) : color;
    return (
      `<rect x="${n(left)}" y="${n(top)}" width="${n(width)}" height="${n(height)}" rx="${n(1.6 * edge)}" fill="${ground}"${line}/>` +
      `<image x="${n(left + edge)}" y="${n(top + edge)}" width="${n(width - 2 * edge)}" height="${n(height - 2 * edge)}" preserveAspectRatio="none" href="${sprites.link(mark.k)}"/>`
    );
  }
  if (look.glyph === "profile" && level.profiles) {
    const [left, top] = [x - side / 2, y - side / 2];
    const path = bars(mark, side).map((bar) => `M${n(left + bar.x)} ${n(top + bar.y)}h${n(bar.width)}v${n(bar.height)}h${n(-bar.width)}z`);
    return `<rect x="${n(left)}" y="${n(top)}" width="${n(side)}" height="${n(side)}" rx="${n(0.08 * side)}" fill="${tint(color, look.theme)}"${line}/><path d="${path.join("")}" fill="${color}"/>`;
  }
  if (pies) {
    let angle = 0;
    const slices = pies[mark.k].map(({ of, share }) => {
      const slice = arc<void>()({ innerRadius: 0, outerRadius: side * RADIUS, startAngle: angle, endAngle: (angle += 2 * Math.PI * share) } as never);
      return `<path d="${slice ?? ""}" fill="${classColor(look.data, of, look.theme)}"/>`;
    });
    return `<g transform="translate(${n(x)} ${n(y)})">${slices.join("")}</g>`;
  }
  return `<circle cx="${n(x)}" cy="${n(y)}" r="${n(side * RADIUS)}" fill="${color}"${line || ' stroke="#ffffff" stroke-width="0.75"'}/>`;
}

function samplesToSvg({ data, scene, screen, emphasis, width, height }: Figure, theme: Theme): string {
  if (data.samples > Math.min(MOST_VECTOR_DOTS, MOST_DOTS)) {
    const [element, context] = canvas(2 * width, 2 * height);
    const device = { scale: 2 * screen.scale, x: 2 * screen.x, y: 2 * screen.y, markScale: 2 * screen.markScale };
    drawSamples(context, data, scene.stage, device, theme, emphasis, 2);
    return `<image width="${width}" height="${height}" href="${element.toDataURL()}"/>`;
  }
  const dots: string[] = [];
  const { palette, of } = sampleColors(data, scene.stage);
  const radius = n(dotRadius(data, screen, 1));
  forSamples(data, scene.stage, screen, (sample, x, y) => {
    if (x < 0 || y < 0 || x > width || y > height) return;
    dots.push(`<circle cx="${n(x)}" cy="${n(y)}" r="${radius}" fill="${palette[of[sample]]}"/>`);
  });
  return `<g opacity="0.8">${dots.join("")}</g>`;
}

function itemToSvg({ x, y, text, mark }: LegendItem, top: number): string {
  const middle = top + y;
  const label = `<text x="${n(x + (mark ? mark.size + 7 : 0))}" y="${n(middle + 4)}">${escaped(text)}</text>`;
  if (!mark) return label;
  const { size } = mark;
  if (mark.kind === "line") return `<line x1="${n(x)}" y1="${n(middle)}" x2="${n(x + size)}" y2="${n(middle)}" stroke="${mark.color}" stroke-width="6"/>${label}`;
  const paintOf = mark.kind === "swatch" ? `fill="${mark.color}"${mark.broken ? ' stroke="#22252b" stroke-dasharray="3 3"' : ""}` : `fill="none" stroke="${mark.color}"`;
  const shape =
    mark.kind === "round"
      ? `<circle cx="${n(x + size / 2)}" cy="${n(middle)}" r="${n(size / 2)}" ${paintOf}/>`
      : `<rect x="${n(x)}" y="${n(middle - size / 2)}" width="${n(size)}" height="${n(size)}" rx="2" ${paintOf}/>`;
  return shape + label;
}

/** The window as PNG at twice its size. */
export function toPng(figure: Figure, ground: string | null): Promise<Blob> {
  const { data, state, scene, screen, emphasis, width, height } = figure;
  const theme = LIGHT;
  const { items, height: below } = legendItems(figure, theme);
  const ratio = 2;
  const [map, mapContext] = canvas(width * ratio, height * ratio);
  paint(mapContext, data, state, scene, screen, theme, emphasis, ratio, namesIn(data, state, scene, screen, emphasis, { width, height }));
  const [page, context] = canvas(width * ratio, (height + below) * ratio);
  if (ground) {
    context.fillStyle = ground;
    context.fillRect(0, 0, page.width, page.height);
  }
  context.drawImage(map, 0, 0);
  context.setTransform(ratio, 0, 0, ratio, 0, height * ratio);
  context.font = `12px ${FONT}`;
  context.textBaseline = "middle";
  for (const item of items) drawItem(context, item, theme);
  return new Promise((resolve, reject) => page.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser made no picture"))), "image/png"));
}

function drawItem(context: CanvasRenderingContext2D, { x, y, text, mark }: LegendItem, theme: Theme): void {
  if (mark) {
    context.beginPath();
    if (mark.kind === "line") {
      context.fillStyle = mark.color;
      context.fillRect(x, y - 3, mark.size, 6);
    } else if (mark.kind === "round") context.arc(x + mark.size / 2, y, mark.size / 2, 0, 2 * Math.PI);
    else context.roundRect(x, y - mark.size / 2, mark.size, mark.size, 2);
    context.fillStyle = context.strokeStyle = mark.color;
    if (mark.kind === "swatch") context.fill();
    if (mark.broken) {
      context.strokeStyle = theme.ink;
      context.setLineDash([3, 3]);
    }
    if ((mark.kind !== "swatch" && mark.kind !== "line") || mark.broken) context.stroke();
    context.setLineDash([]);
  }
  context.fillStyle = theme.ink;
  context.fillText(text, x + (mark ? mark.size + 7 : 0), y);
}
