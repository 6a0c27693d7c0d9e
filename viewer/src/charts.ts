// Small drawings beside the map: lines, bars, and the table of prototypes and classes.

import { area, curveMonotoneX, line } from "d3-shape";
import { classColor, type Theme } from "./colors";
import { classesOf, type Level, type MapData } from "./data";
import { count, h, s, shown, short } from "./dom";
import { canvas } from "./sprites";

const WIDTH = 332;
/** A table beyond these is no longer seen. */
const MOST_CLASSES = 400;
const MOST_PROTOTYPES = 6000;

/** Values against their position, from the first to the last. */
export function lineChart(values: number[], label: string, describe: (at: number) => string): SVGSVGElement {
  const [height, bottom, left] = [96, 18, 2];
  const known = values.filter(Number.isFinite);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const x = (i: number) => left + (values.length > 1 ? (i / (values.length - 1)) * (WIDTH - 2 * left) : WIDTH / 2);
  const y = (value: number) => 8 + (high > low ? (high - value) / (high - low) : 0.5) * (height - bottom - 12);
  const points = values.map((value, i): [number, number] => [x(i), y(value)]);
  const path = line<[number, number]>().curve(curveMonotoneX)(points) ?? "";
  const below = area<[number, number]>().curve(curveMonotoneX).y0(height - bottom).y1((point) => point[1])(points) ?? "";
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, class: "gm-chart", role: "img", "aria-label": label },
    s("path", { d: below, class: "gm-area" }),
    s("path", { d: path, class: "gm-line" }),
    values.length === 1 && s("circle", { cx: x(0), cy: y(values[0]), r: 3, class: "gm-dot" }),
    s("line", { x1: 0, x2: WIDTH, y1: height - bottom, y2: height - bottom, class: "gm-axis" }),
    s("text", { x: left, y: height - 5 }, describe(0)),
    s("text", { x: WIDTH - left, y: height - 5, "text-anchor": "end" }, values.length > 1 ? describe(values.length - 1) : ""),
  );
}

/** How many values lie in each of some equal steps. */
export function histogram(values: Float64Array, label: string, describe: (value: number) => string): SVGSVGElement {
  const [height, bottom, bins] = [92, 18, 24];
  const [low, high] = [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];
  const counts = new Array<number>(bins).fill(0);
  for (const value of values) counts[Math.min(bins - 1, high > low ? Math.floor(((value - low) / (high - low)) * bins) : 0)]++;
  const most = Math.max(...counts);
  const step = WIDTH / bins;
  return s(
    "svg",
    { viewBox: `0 0 ${WIDTH} ${height}`, class: "gm-chart", role: "img", "aria-label": label },
    ...counts.map((found, bin) => {
      const size = (found / most) * (height - bottom - 8);
      const range = `${found}: ${describe(low + ((high - low) * bin) / bins)} to ${describe(low + ((high - low) * (bin + 1)) / bins)}`;
      return s("rect", { x: bin * step + 0.75, y: height - bottom - size, width: step - 1.5, height: size, rx: 1.5, class: "gm-bar" }, s("title", {}, range));
    }),
    s("line", { x1: 0, x2: WIDTH, y1: height - bottom, y2: height - bottom, class: "gm-axis" }),
    s("text", { x: 2, y: height - 5 }, describe(low)),
    s("text", { x: WIDTH - 2, y: height - 5, "text-anchor": "end" }, high > low ? describe(high) : ""),
  );
}

/** Prototypes against classes: how much of each prototype is of each class. Prototypes are sorted by class and weight. */
export function confusion(data: MapData, level: Level, order: Uint32Array, theme: Theme, pick: (k: number) => void): HTMLElement {
  const { names } = data.classes!;
  if (names.length > MOST_CLASSES || level.prototypes > MOST_PROTOTYPES) {
    return h("p", { class: "gm-note" }, `${count(level.prototypes, "prototype")} and ${count(names.length, "class", "classes")} are too many for a table; each prototype shows its own.`);
  }
  const shares = Array.from({ length: level.prototypes }, (_, k) => classesOf(level, k));
  const rows = Array.from(order).sort((a, b) => (shares[a][0]?.of ?? 0) - (shares[b][0]?.of ?? 0) || level.weights[b] - level.weights[a]);
  const column = Math.max(1, Math.floor(WIDTH / names.length));
  const row = Math.min(10, Math.max(1, Math.round(300 / rows.length)));
  const [element, context] = canvas(column * names.length, row * rows.length);
  rows.forEach((k, y) => {
    for (const { of, share } of shares[k]) {
      context.fillStyle = classColor(data, of, theme);
      // Small shares are what one looks for here: they must not vanish.
      context.globalAlpha = 0.18 + 0.82 * share;
      context.fillRect(of * column, y * row, Math.max(1, column - 1), row > 2 ? row - 1 : row);
    }
  });
  element.className = "gm-confusion";
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", "Share of each class in each prototype; the list tab has the largest as text");
  const at = (event: MouseEvent) => {
    const y = Math.floor((event.offsetY / element.clientHeight) * rows.length);
    const x = Math.floor((event.offsetX / element.clientWidth) * names.length);
    return { k: rows[Math.min(rows.length - 1, Math.max(0, y))], of: Math.min(names.length - 1, Math.max(0, x)) };
  };
  const told = h("p", { class: "gm-note" }, "Rows are prototypes, columns classes.");
  element.addEventListener("mousemove", (event) => {
    const { k, of } = at(event);
    const share = shares[k].find((entry) => entry.of === of)?.share ?? 0;
    told.textContent = `#${k}: ${shown(100 * share)} % ${short(names[of], 40)}`;
  });
  element.addEventListener("click", (event) => pick(at(event).k));
  const labels = names.length <= 12 ? h("div", { class: "gm-confusion-names" }, ...names.map((name) => h("span", { title: short(name, 200) }, short(name, 30)))) : null;
  return h("div", {}, element, labels, told);
}
