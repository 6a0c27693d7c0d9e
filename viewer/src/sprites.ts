// Pictures of prototypes in one canvas, an atlas: drawing one is a copy of a rectangle.

import { membersOf, pictureAt, type Level, type MapData, type Pictures } from "./data";
import { rgb } from "./colors";

/** Sides that every browser can hold. */
const LARGEST = 4096;

export class Sprites {
  readonly width: number;
  readonly height: number;
  private sheets: HTMLCanvasElement[] = [];
  private perRow: number;
  private perSheet: number;

  /** Pixels are drawn as they are, or, with colours, as ink of that colour on nothing. */
  constructor(data: MapData, level: Level, kind: "mean" | "medoid", inks: string[] | null) {
    const pictures = data.pictures!;
    const mean = kind === "mean";
    this.width = mean ? pictures.meanWidth : pictures.width;
    this.height = mean ? pictures.meanHeight : pictures.height;
    this.perRow = Math.max(1, Math.floor(LARGEST / this.width));
    this.perSheet = this.perRow * Math.max(1, Math.floor(LARGEST / this.height));
    const size = this.width * this.height * pictures.channels;
    const dark = !inks || isDark(pictures);
    for (let start = 0; start < level.prototypes; start += this.perSheet) {
      const count = Math.min(this.perSheet, level.prototypes - start);
      const [sheet, context] = canvas(Math.min(count, this.perRow) * this.width, Math.ceil(count / this.perRow) * this.height);
      for (let k = start; k < start + count; k++) {
        const source = mean ? level.means! : pictures.pixels;
        const at = mean ? k * size : pictureAt(pictures, membersOf(level, k)[0]);
        if (at < 0) continue;
        const image = pixels(source, at, this.width, this.height, pictures.channels, inks && inks[k], dark);
        const [x, y] = this.place(k);
        context.putImageData(image, x, y);
      }
      this.sheets.push(sheet);
    }
  }

  private place(k: number): [number, number] {
    const at = k % this.perSheet;
    return [(at % this.perRow) * this.width, Math.floor(at / this.perRow) * this.height];
  }

  draw(context: CanvasRenderingContext2D, k: number, x: number, y: number, width: number, height: number): void {
    const [left, top] = this.place(k);
    context.drawImage(this.sheets[Math.floor(k / this.perSheet)], left, top, this.width, this.height, x, y, width, height);
  }

  /** One picture as a file inside a link. */
  link(k: number): string {
    const [one, context] = canvas(this.width, this.height);
    this.draw(context, k, 0, 0, this.width, this.height);
    return one.toDataURL();
  }
}

export function canvas(width: number, height: number): [HTMLCanvasElement, CanvasRenderingContext2D] {
  const element = document.createElement("canvas");
  element.width = Math.max(1, Math.round(width));
  element.height = Math.max(1, Math.round(height));
  return [element, element.getContext("2d")!];
}

/** Whether pictures have a dark ground: the mean of the first pixel of each. */
function isDark({ pixels, width, height, channels }: Pictures): boolean {
  const size = width * height * channels;
  let [sum, count] = [0, 0];
  for (let at = 0; at < pixels.length; at += size) {
    sum += pixels[at];
    count++;
  }
  return sum < 128 * count;
}

/** Whether pictures are drawings, mostly ground: those look best as ink. */
export function areDrawings(pictures: Pictures): boolean {
  if (pictures.channels !== 1) return false;
  const ground = isDark(pictures) ? 0 : 255;
  let empty = 0;
  for (const value of pictures.pixels) if (Math.abs(value - ground) < 16) empty++;
  return empty > 0.7 * pictures.pixels.length;
}

/** A picture as the browser wants it. */
function pixels(source: Uint8Array, at: number, width: number, height: number, channels: number, ink: string | null, dark: boolean): ImageData {
  const image = new ImageData(width, height);
  const out = image.data;
  const tint = ink ? rgb(ink) : null;
  for (let i = 0; i < width * height; i++) {
    const from = at + i * channels;
    const to = 4 * i;
    if (tint && channels === 1) {
      [out[to], out[to + 1], out[to + 2]] = tint;
      out[to + 3] = dark ? source[from] : 255 - source[from];
    } else {
      out[to] = source[from];
      out[to + 1] = source[channels === 1 ? from : from + 1];
      out[to + 2] = source[channels === 1 ? from : from + 2];
      out[to + 3] = channels === 4 ? source[from + 3] : 255;
    }
  }
  return image;
}

/** The picture of a sample in a canvas of its own, or null when this file has none. */
export function thumbnail(data: MapData, sample: number): HTMLCanvasElement | null {
  const { pictures } = data;
  const at = pictures ? pictureAt(pictures, sample) : -1;
  if (!pictures || at < 0) return null;
  const [element, context] = canvas(pictures.width, pictures.height);
  context.putImageData(pixels(pictures.pixels, at, pictures.width, pictures.height, pictures.channels, null, true), 0, 0);
  return element;
}
