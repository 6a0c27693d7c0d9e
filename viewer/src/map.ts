// The map in its window: zoom, pan, pointing, lasso, keyboard. It draws when something changed, once a frame.

import Flatbush from "flatbush";
import { pointer, select } from "d3-selection";
import { zoom, zoomIdentity, zoomTransform, type D3ZoomEvent, type ZoomBehavior } from "d3-zoom";
import type { Theme } from "./colors";
import type { MapData } from "./data";
import { h } from "./dom";
import { areSquare, RADIUS, tile } from "./marks";
import { drawNames, namesIn, paint, type Emphasis, type Size } from "./painter";
import type { PlacedName } from "./placing";
import { sampleAt, type Screen } from "./samples";
import type { Scene, Scenes } from "./scene";
import type { Found } from "./search";
import { canvas } from "./sprites";
import { FURTHEST, NEAREST, type Store } from "./state";

/** Marks grow with the zoom, but slower than the distances between them, so that zooming in parts them. */
const GROWTH = 0.7;
/** Space around a map that is shown as a whole. */
const MARGIN = 22;
/** Room below it for the button that shows what lies outside. */
const BELOW = 30;
/** How far the picture of a pan reaches beyond the window, in its longer side. */
const OVERSIZE = 0.25;

/** The map as it was drawn for one place of the window. */
interface Layer {
  picture: HTMLCanvasElement;
  x: number;
  y: number;
}

/** What the pointer is on: a mark, or a sample. */
export type Target = { prototype: number } | { sample: number };

export interface MapEvents {
  hover(target: Target | null, x: number, y: number): void;
  lasso(prototypes: number[], add: boolean): void;
  pick(target: Target | null, add: boolean): void;
  resized(): void;
}

export class MapView {
  readonly element: HTMLElement;
  readonly canvas: HTMLCanvasElement;
  lassoMode = false;
  private zoom: ZoomBehavior<HTMLCanvasElement, unknown>;
  private requested = 0;
  width = 1;
  height = 1;
  private observer: ResizeObserver;
  private index: { scene: Scene; tree: Flatbush } | null = null;
  private hovered: number | null = null;
  private hoveredSample: number | null = null;
  private line: [number, number][] | null = null;
  /** A lasso ends with a click that is none. */
  private ended = false;
  private scene: Scene | null = null;
  private drawnLook: unknown[] | null = null;
  private layer: Layer | null = null;
  /** Names as they were placed last: a pan carries them along, and a pointer that moves asks for no others. */
  private names: { placed: PlacedName[]; look: unknown[]; x: number; y: number } | null = null;

  constructor(
    private data: MapData,
    private store: Store,
    private scenes: Scenes,
    private theme: () => Theme,
    private found: () => Found | null,
    private events: MapEvents,
  ) {
    this.canvas = h("canvas", {
      tabindex: 0,
      role: "img",
      "aria-label": "The map. Arrow keys move it, plus and minus zoom, 0 fits it, n and p go through the prototypes, question mark explains; the list tab has all of them as text.",
    });
    this.element = h("div", { class: "gm-map" }, this.canvas);
    this.zoom = zoom<HTMLCanvasElement, unknown>()
      .filter((event: MouseEvent) => !event.button && !this.lassoMode && !(event.shiftKey && event.type === "mousedown"))
      .on("zoom", (event: D3ZoomEvent<HTMLCanvasElement, unknown>) => this.zoomed(event))
      .on("end", () => {
        // What a pan moved by parts of pixels is drawn sharp again.
        this.drawnLook = null;
        this.invalidate();
      });
    select(this.canvas).call(this.zoom).on("dblclick.zoom", null);
    this.listen();
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(this.element);
  }

  destroy(): void {
    this.observer.disconnect();
    cancelAnimationFrame(this.requested);
    select(this.canvas).on(".zoom", null);
    this.element.remove();
  }

  /** Draws with the next frame. */
  invalidate(): void {
    this.requested ||= requestAnimationFrame(() => {
      this.requested = 0;
      this.draw();
    });
  }

  private resize(): void {
    const { clientWidth, clientHeight } = this.element;
    if (!clientWidth || !clientHeight) return;
    [this.width, this.height] = [clientWidth, clientHeight];
    const ratio = this.ratio();
    this.canvas.width = Math.round(clientWidth * ratio);
    this.canvas.height = Math.round(clientHeight * ratio);
    this.zoom.extent([[0, 0], [clientWidth, clientHeight]]);
    this.restore();
    this.draw();
    this.events.resized();
  }

  private ratio(): number {
    return Math.min(2, window.devicePixelRatio || 1);
  }

  /** Pixels per page unit when the whole map is shown. */
  private fitScale(window: Size = this): number {
    return this.scaleOf(this.scenes.bounds(this.store.state), window);
  }

  private scaleOf(box: Size, window: Size): number {
    const below = this.outside ? BELOW : 0;
    return Math.max(1e-6, Math.min((window.width - 2 * MARGIN) / box.width, (window.height - 2 * MARGIN - below) / box.height));
  }

  /** The magnification at which far prototypes are in sight too; 1 where there are none. */
  private zoomOfAll(): number {
    return Math.min(1, this.scaleOf(this.scenes.bounds(this.store.state, true), this) / this.fitScale());
  }

  /** Shows everything, however far away. */
  showAll(): void {
    const { x, y } = this.scenes.bounds(this.store.state, true);
    this.store.set({ view: { x, y, zoom: this.zoomOfAll() } });
    this.restore();
  }

  /** How many prototypes are not in sight when the map is fitted. */
  get outside(): number {
    const [box, { layout }] = [this.scenes.bounds(this.store.state), this.scenes.nearest(this.store.state, this.theme())];
    let found = 0;
    layout.x.forEach((x, k) => {
      if (Math.abs(x - box.x) > 0.55 * box.width || Math.abs(layout.y[k] - box.y) > 0.55 * box.height) found++;
    });
    return found;
  }

  /** Shows what the state asks for: the whole map, or a part of it. */
  restore(): void {
    const fit = this.fitScale();
    const box = this.scenes.bounds(this.store.state);
    const below = this.outside ? BELOW / (2 * fit) : 0;
    const view = this.store.state.view ?? { x: box.x, y: box.y + below, zoom: 1 };
    const scale = fit * view.zoom;
    this.zoom.scaleExtent([fit * Math.min(FURTHEST, 0.9 * this.zoomOfAll()), fit * NEAREST]);
    const transform = zoomIdentity.translate(this.width / 2 - view.x * scale, this.height / 2 - view.y * scale).scale(scale);
    // What is already shown is left alone: setting it would end the gesture that led there.
    const now = zoomTransform(this.canvas);
    if (Math.abs(now.k / scale - 1) < 1e-9 && Math.hypot(now.x - transform.x, now.y - transform.y) < 1e-3) return;
    select(this.canvas).call(this.zoom.transform, transform);
  }

  private zoomed(event: D3ZoomEvent<HTMLCanvasElement, unknown>): void {
    this.invalidate();
    // Only what a person did is remembered; what the page did follows from the state.
    if (!event.sourceEvent) return;
    this.remember();
    this.point(null, 0, 0);
  }

  private remember(): void {
    const { k, x, y } = zoomTransform(this.canvas);
    this.store.set({ view: { x: (this.width / 2 - x) / k, y: (this.height / 2 - y) / k, zoom: k / this.fitScale() } });
  }

  fit(): void {
    this.store.set({ view: null });
    this.restore();
  }

  zoomBy(factor: number): void {
    select(this.canvas).call(this.zoom.scaleBy, factor);
    this.remember();
  }

  panBy(dx: number, dy: number): void {
    const { k } = zoomTransform(this.canvas);
    select(this.canvas).call(this.zoom.translateBy, dx / k, dy / k);
    this.remember();
  }

  /** Brings a prototype into sight if it is not; so many pixels at the bottom are covered. */
  reveal(k: number, covered = 0): void {
    const { layout } = this.scenes.nearest(this.store.state, this.theme());
    const screen = this.screen();
    const [x, y] = [layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y];
    const height = Math.max(40, this.height - covered);
    if (x < 20 || y < 20 || x > this.width - 20 || y > height - 20) this.panBy(this.width / 2 - x, height / 2 - y);
  }

  screen(): Screen {
    const { k, x, y } = zoomTransform(this.canvas);
    const fit = this.fitScale();
    return { scale: k, x, y, markScale: fit * (k / fit) ** GROWTH };
  }

  /** How the map lies on a sheet of another size: what is in the middle here is in the middle there. */
  screenOn(sheet: Size): Screen {
    const fit = this.fitScale(sheet);
    const { x, y, zoom } = this.store.state.view ?? { ...this.scenes.bounds(this.store.state), zoom: 1 };
    const scale = fit * zoom;
    return { scale, x: sheet.width / 2 - x * scale, y: sheet.height / 2 - y * scale, markScale: fit * zoom ** GROWTH };
  }

  emphasis(): Emphasis {
    const found = this.found();
    const { selected, sample } = this.store.state;
    const samples = [this.hoveredSample, sample].filter((entry): entry is number => entry !== null);
    return { hovered: this.hovered, selected: new Set(selected), found: found?.prototypes ?? null, foundSamples: found?.samples ?? null, samples };
  }

  draw(): void {
    const context = this.canvas.getContext("2d")!;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    const theme = this.theme();
    this.scene = this.scenes.at(this.store.state, theme);
    const [look, screen] = [this.look(theme), this.screen()];
    const panned = this.drawnLook !== null && look.every((part, i) => part === this.drawnLook![i]);
    this.drawnLook = look;
    if (panned && this.scene.still) this.drawLayer(context, theme, screen);
    else {
      this.layer = null;
      paint(context, this.data, this.store.state, this.scene, screen, theme, this.emphasis(), this.ratio(), this.namesAt(screen));
    }
    if (this.line) this.drawLasso(context, theme);
  }

  /** Everything a drawing depends on but the place it is moved to. */
  private look(theme: Theme): unknown[] {
    const { samples, links, names, selected, sample } = this.store.state;
    return [this.scene!.marks, theme, samples, links, names, selected, sample, this.hovered, this.hoveredSample, this.found(), zoomTransform(this.canvas).k, this.canvas.width, this.canvas.height];
  }

  private namesAt(screen: Screen): PlacedName[] {
    const { state } = this.store;
    const look = [this.scene!.marks, state.names, state.selected, this.found(), screen.scale, screen.x, screen.y, this.width, this.height];
    if (!this.names || look.some((part, i) => part !== this.names!.look[i])) {
      const placed = namesIn(this.data, state, this.scene!, screen, this.emphasis(), { width: this.width, height: this.height });
      this.names = { placed, look, x: screen.x, y: screen.y };
    }
    return this.names.placed;
  }

  /** A pan moves a picture that reaches beyond the window, and draws a new one only when its edge comes into sight. */
  private drawLayer(context: CanvasRenderingContext2D, theme: Theme, screen: Screen): void {
    const ratio = this.ratio();
    const margin = Math.round(OVERSIZE * Math.max(this.width, this.height));
    const far = (layer: Layer) => Math.max(Math.abs(screen.x - layer.x), Math.abs(screen.y - layer.y)) > margin;
    if (!this.layer || far(this.layer)) {
      const [picture, onto] = canvas((this.width + 2 * margin) * ratio, (this.height + 2 * margin) * ratio);
      const moved = { ...screen, x: screen.x + margin, y: screen.y + margin };
      paint(onto, this.data, this.store.state, this.scene!, moved, theme, this.emphasis(), ratio, []);
      this.layer = { picture, x: screen.x, y: screen.y };
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(this.layer.picture, (screen.x - this.layer.x - margin) * ratio, (screen.y - this.layer.y - margin) * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    if (!this.names) return;
    context.save();
    context.translate(screen.x - this.names.x, screen.y - this.names.y);
    drawNames(context, theme, this.names.placed);
    context.restore();
  }

  private drawLasso(context: CanvasRenderingContext2D, theme: Theme): void {
    context.beginPath();
    this.line!.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    context.closePath();
    context.globalAlpha = 0.08;
    context.fillStyle = theme.ink;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = theme.ink;
    context.lineWidth = 1.25;
    context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
  }

  /** The mark on top at a point of the screen. */
  at(x: number, y: number): number | null {
    const { scene } = this;
    if (!scene || !scene.still) return null;
    const { layout, order } = scene.stage;
    if (this.index?.scene.stage.layout !== layout) {
      const tree = new Flatbush(layout.x.length);
      layout.x.forEach((left, k) => tree.add(left, layout.y[k]));
      tree.finish();
      this.index = { scene, tree };
    }
    const screen = this.screen();
    const [px, py] = [(x - screen.x) / screen.scale, (y - screen.y) / screen.scale];
    const reach = (layout.side[order[0]] * screen.markScale) / screen.scale;
    const near = this.index!.tree.search(px - reach, py - reach, px + reach, py + reach);
    let best: number | null = null;
    for (const k of near) {
      const mark = { stage: scene.stage, k, x: layout.x[k], y: layout.y[k], side: layout.side[k], alpha: 1 };
      // Small marks can be hit a little beside.
      const side = Math.max(8, mark.side * screen.markScale);
      const [dx, dy] = [Math.abs(px - mark.x) * screen.scale, Math.abs(py - mark.y) * screen.scale];
      const [width, height] = tile(mark, side);
      const inside = areSquare(scene.stage, this.store.state.glyph) ? dx <= width / 2 && dy <= height / 2 : Math.hypot(dx, dy) <= side * RADIUS;
      if (inside && (best === null || layout.side[k] < layout.side[best])) best = k;
    }
    return best;
  }

  /** Where a prototype is drawn, in pixels of the window. */
  placeOf(k: number): [number, number] {
    const { layout } = this.scenes.nearest(this.store.state, this.theme());
    const screen = this.screen();
    return [layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y];
  }

  /** What is at a point of the screen: a sample, or a mark. */
  private target(x: number, y: number): Target | null {
    const { scene } = this;
    // Upon a mark only the dot itself is meant, beside it also what is near.
    const k = this.at(x, y);
    const reach = k === null ? 8 : 3.5;
    const sample = scene?.still && this.store.state.samples ? sampleAt(this.data, scene.stage, this.screen(), x, y, reach) : null;
    if (sample !== null) return { sample };
    return k === null ? null : { prototype: k };
  }

  point(target: Target | null, x: number, y: number): void {
    const [k, sample] = [target && "prototype" in target ? target.prototype : null, target && "sample" in target ? target.sample : null];
    if (k !== this.hovered || sample !== this.hoveredSample) {
      [this.hovered, this.hoveredSample] = [k, sample];
      this.invalidate();
    }
    this.events.hover(target, x, y);
  }

  private listen(): void {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => {
      const [x, y] = pointer(event, canvas);
      if (this.line) {
        this.line.push([x, y]);
        this.invalidate();
      } else if (!event.buttons) {
        const target = this.target(x, y);
        canvas.style.cursor = this.lassoMode ? "crosshair" : target === null ? "grab" : "pointer";
        // A finger covers what it touches: it has the sheet, not the card.
        if (event.pointerType !== "touch") this.point(target, x, y);
      }
    });
    canvas.addEventListener("pointerleave", () => this.point(null, 0, 0));
    canvas.addEventListener("pointerdown", (event) => {
      if (event.button || !(this.lassoMode || event.shiftKey)) return;
      canvas.setPointerCapture(event.pointerId);
      this.line = [pointer(event, canvas)];
      this.ended = false;
      this.point(null, 0, 0);
    });
    canvas.addEventListener("pointerup", (event) => this.endLasso(event));
    canvas.addEventListener("click", (event) => {
      if (this.ended) {
        this.ended = false;
        return;
      }
      const [x, y] = pointer(event, canvas);
      this.events.pick(this.target(x, y), event.shiftKey);
    });
  }

  private endLasso(event: PointerEvent): void {
    const { line } = this;
    this.line = null;
    this.invalidate();
    // A line of a few points is a click.
    if (!line || line.length < 4 || !this.scene) return;
    this.ended = true;
    const { layout, level } = this.scene.stage;
    const screen = this.screen();
    const inside = [];
    for (let k = 0; k < level.prototypes; k++) {
      if (encloses(line, layout.x[k] * screen.scale + screen.x, layout.y[k] * screen.scale + screen.y)) inside.push(k);
    }
    this.events.lasso(inside, event.shiftKey && this.lassoMode);
  }
}

/** Whether a closed line goes around a point an odd number of times. */
export function encloses(line: [number, number][], x: number, y: number): boolean {
  let inside = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) inside = !inside;
  }
  return inside;
}
