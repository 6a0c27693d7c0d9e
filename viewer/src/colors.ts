// Colours: of the page by theme, of classes by the palette of the file, of numbers by one ramp from dark to light.

import type { MapData } from "./data";

export interface Theme {
  dark: boolean;
  paper: string;
  surface: string;
  ink: string;
  muted: string;
  line: string;
  /** Lines between prototypes. */
  link: string;
}

export const LIGHT: Theme = { dark: false, paper: "#faf9f6", surface: "#ffffff", ink: "#22252b", muted: "#5f6470", line: "#e4e1d9", link: "#8d94a1" };
export const DARK: Theme = { dark: true, paper: "#14161a", surface: "#1d2026", ink: "#e9eaed", muted: "#a3aab6", line: "#31353e", link: "#7d8594" };

/** The colour of a class. From the eleventh on the hues come again, halfway to the paper. */
export function classColor(data: MapData, index: number, theme: Theme): string {
  const given = data.palette[index % data.palette.length];
  // On a dark ground the same hues are lighter.
  const color = theme.dark ? mixed(given, "#ffffff", 0.22) : given;
  return index < data.palette.length ? color : mixed(color, theme.paper, 0.45);
}

/** Whether a class shares its hue with an earlier one, and so is drawn with a broken outline. */
export function isRepeated(data: MapData, index: number): boolean {
  return index >= data.palette.length;
}

function channels(color: string): number[] {
  return [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
}

export function mixed(color: string, other: string, share: number): string {
  const [a, b] = [channels(color), channels(other)];
  return `#${a.map((value, i) => Math.round(value + (b[i] - value) * share).toString(16).padStart(2, "0")).join("")}`;
}

export function rgb(color: string): [number, number, number] {
  return channels(color) as [number, number, number];
}

/** A ramp that grows lighter from blue to yellow by even steps of perceived lightness: safe for colour-blind eyes, and in grey. Both
 *  its ends are apart from the ground. */
export function ramp(share: number, theme: Theme): string {
  const t = Math.min(1, Math.max(0, share));
  const lightness = (theme.dark ? 0.46 : 0.32) + 0.44 * t;
  const chroma = 0.105 + 0.05 * Math.sin(Math.PI * t);
  const hue = ((275 - 180 * t) * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(hue), chroma * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const linear = [
    4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
    -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
    -0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s,
  ];
  const encoded = linear.map((value) => {
    const inside = Math.min(1, Math.max(0, value));
    return inside <= 0.0031308 ? 12.92 * inside : 1.055 * inside ** (1 / 2.4) - 0.055;
  });
  return `#${encoded.map((value) => Math.round(255 * value).toString(16).padStart(2, "0")).join("")}`;
}
