// The path: a slider from few prototypes to many, and under it what the levels cost and gain.

import { curveMonotoneX, line } from "d3-shape";
import type { MapData } from "./data";
import { count, h, s, shown } from "./dom";
import { term } from "./glossary";
import type { Store } from "./state";

/** Time from one level to the next, in milliseconds. */
const STEP = 900;

interface Series {
  name: string;
  values: (number | null)[];
  dash: string;
  digits: number;
}

export class Slider {
  readonly element: HTMLElement;
  private input: HTMLInputElement;
  private label = h("output", { class: "gm-n" });
  private play = h("button", { type: "button", class: "gm-play", "aria-label": "Play the path" }, "▶");
  private cursor = s("line", { y1: 2, y2: 50, class: "gm-cursor" });
  /** The frame of a movement that is under way, or 0. */
  private running = 0;
  /** The level that was asked for, while it is on its way there. */
  private aim: number | null = null;

  constructor(
    private data: MapData,
    private store: Store,
  ) {
    const last = data.levels.length - 1;
    this.input = h("input", { type: "range", min: 0, max: last, step: 0.001, "aria-label": "Number of prototypes" });
    this.input.addEventListener("input", () => {
      this.stop();
      this.show(Number(this.input.value));
    });
    // A thumb that is held does not move on under the finger. A press that changes nothing ends without "change" in some browsers.
    this.input.addEventListener("pointerdown", () => this.stop());
    for (const end of ["change", "pointerup", "pointercancel"]) this.input.addEventListener(end, () => this.settle());
    this.input.addEventListener("keydown", (event) => {
      // The browser's own step of a page is a tenth of the track: on a short path it would fall back to where it was.
      const step = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 }[event.key];
      if (!step) return;
      event.preventDefault();
      // From where it is going, so that fast presses all count.
      this.goTo(Math.min(last, Math.max(0, (this.aim ?? Math.round(store.state.level)) + step)));
    });
    this.play.addEventListener("click", () => {
      if (this.running) return this.stop();
      this.goTo(last, store.state.level >= last ? 0 : store.state.level);
      // It passes all levels and was asked for none: an arrow steps from where it is.
      this.aim = null;
    });
    const ticks = data.levels.map((level, i) =>
      h("button", { type: "button", style: `left:${(100 * i) / last}%`, click: () => this.goTo(i) }, level.prototypes.toLocaleString("en")),
    );
    // As wide as its longest text, so that the track stays where it is.
    this.label.dataset.widest = count(Math.max(...data.levels.map((level) => level.prototypes)), "prototype");
    this.element = h(
      "section",
      { class: "gm-path", "aria-label": "From few prototypes to many" },
      h("div", { class: "gm-path-head" }, this.play, this.label),
      h("div", { class: "gm-track" }, this.input, h("div", { class: "gm-ticks" }, ...ticks), this.chart()),
      this.key(),
    );
    this.update();
  }

  /** Shows the level of the state. */
  update(): void {
    const { level } = this.store.state;
    const n = this.data.levels[Math.round(level)].prototypes;
    this.input.value = String(level);
    this.label.textContent = count(n, "prototype");
    const x = String((100 * level) / (this.data.levels.length - 1));
    this.cursor.setAttribute("x1", x);
    this.cursor.setAttribute("x2", x);
  }

  /** Ends a movement where it is. The level is as it was, and the input is left alone: it may hold what a hand has just set. */
  stop(): void {
    cancelAnimationFrame(this.running);
    this.running = 0;
    this.aim = null;
    this.play.textContent = "▶";
  }

  /** Moves to a level, at the same pace whatever the way. */
  goTo(target: number, from = this.store.state.level): void {
    this.stop();
    if (from === target) return;
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) return this.show(target);
    const start = performance.now();
    const duration = Math.abs(target - from) * STEP;
    const frame = (now: number) => {
      // A frame may have begun before the movement did.
      const share = Math.max(0, (now - start) / duration);
      if (share < 1) this.running = requestAnimationFrame(frame);
      else this.stop();
      this.show(share < 1 ? from + (target - from) * share : target);
    };
    this.running = requestAnimationFrame(frame);
    this.aim = target;
    this.play.textContent = "❚❚";
  }

  /** Left between two levels, it goes on to the nearer one. */
  private settle(): void {
    this.goTo(Math.round(this.store.state.level));
  }

  /** Prototypes of one level are not those of the next: none stays selected. */
  private show(level: number): void {
    const { selected } = this.store.state;
    this.store.set({ level, selected: selected.length ? [] : selected });
  }

  private series(): Series[] {
    const { levels } = this.data;
    const silhouette = this.data.silhouetteOf === "classes" ? "silhouette of classes" : "silhouette of members";
    return [
      { name: "loss", values: levels.map((level) => level.loss), dash: "", digits: 4 },
      { name: silhouette, values: levels.map((level) => level.silhouette), dash: "4 3", digits: 3 },
      { name: "homogeneity", values: levels.map((level) => level.homogeneity), dash: "1.5 3", digits: 3 },
    ].filter(({ values }) => values.some((value) => value !== null));
  }

  /** Each line on a scale of its own: what matters is where it bends. */
  private chart(): SVGSVGElement {
    const last = this.data.levels.length - 1;
    const lines = this.series().flatMap(({ name, values, dash, digits }) => {
      const known = values.filter((value): value is number => value !== null);
      const [low, high] = [Math.min(...known), Math.max(...known)];
      const points = values.flatMap((value, i): [number, number, number][] =>
        value === null ? [] : [[(100 * i) / last, 46 - (high > low ? (value - low) / (high - low) : 0.5) * 40, value]],
      );
      const path = line<[number, number, number]>().curve(curveMonotoneX)(points) ?? "";
      return [s("path", { d: path, class: "gm-line", "stroke-dasharray": dash || null }, s("title", {}, `${name}: ${known.map((value) => shown(value, digits)).join(", ")}`))];
    });
    return s(
      "svg",
      { viewBox: "0 0 100 52", preserveAspectRatio: "none", class: "gm-path-chart", role: "img", "aria-label": "Loss, silhouette and homogeneity by number of prototypes" },
      ...lines,
      this.cursor,
    );
  }

  private key(): HTMLElement {
    const entries = this.series().map(({ name, dash }, i) =>
      h(
        "li",
        {},
        s("svg", { width: 22, height: 8 }, s("line", { x1: 0, x2: 22, y1: 4, y2: 4, class: "gm-line", "stroke-dasharray": dash || null })),
        term(name.split(" ")[0], name),
        h("b", { "data-series": i }),
      ),
    );
    const element = h("ul", { class: "gm-path-key" }, ...entries);
    const tell = () => {
      const at = Math.round(this.store.state.level);
      this.series().forEach(({ values, digits }, i) => {
        const value = values[at];
        entries[i].lastElementChild!.textContent = value === null ? "–" : shown(value, digits);
      });
    };
    this.store.listen(tell);
    tell();
    return element;
  }
}
