// The page: puts the parts together, and keeps them telling the same story.

import { DARK, LIGHT, colorChoices, type Theme } from "./colors";
import { controls, glyphChoices } from "./controls";
import type { MapData } from "./data";
import { card } from "./details";
import { count, h, short } from "./dom";
import { exportMenu } from "./exports";
import type { Figure } from "./figure";
import { legend } from "./legend";
import { list } from "./list";
import { MapView } from "./map";
import { overview } from "./overview";
import { panel } from "./panel";
import { Scenes } from "./scene";
import { Search, type Found } from "./search";
import { Slider } from "./slider";
import { areDrawings } from "./sprites";
import { fromHash, Store, toHash, type State, type Tab } from "./state";

/** A map in a page. */
export interface Viewer {
  /** Shows something else: any part of the state. */
  update(patch: Partial<State>): void;
  /** What is shown now. */
  readonly state: State;
  /** Where a prototype of the level shown is drawn, in pixels from the corner of the map. */
  placeOf(k: number): [number, number];
  /** Leaves the element as it was. */
  destroy(): void;
}

const TABS: [Tab, string][] = [
  ["overview", "Overview"],
  ["prototype", "Prototype"],
  ["list", "List"],
];

/** What a map shows at first. */
export function startState(data: MapData): State {
  return {
    level: data.levels.length - 1,
    glyph: glyphChoices(data)[0],
    color: colorChoices(data)[0].value,
    spread: true,
    samples: false,
    names: false,
    ink: data.pictures !== null && areDrawings(data.pictures),
    size: 1,
    axes: [0, 1],
    theme: "auto",
    query: "",
    selected: [],
    tab: "overview",
    view: null,
  };
}

/** Puts a map into an element. With `address`, the state is kept in the address of the page. */
export function mount(root: HTMLElement, data: MapData, options: { address?: boolean; state?: Partial<State> } = {}): Viewer {
  return new Page(root, data, options.address ?? false, options.state ?? {});
}

class Page implements Viewer {
  private store: Store;
  private start: State;
  private scenes: Scenes;
  private search: Search;
  private map: MapView;
  private slider: Slider | null = null;
  private controls: ReturnType<typeof controls>;
  private preference = matchMedia("(prefers-color-scheme: dark)");
  private ends = new AbortController();
  private parts = {
    card: h("div", { class: "gm-card", hidden: true }),
    legend: h("div", { class: "gm-legend" }),
    side: h("div", { class: "gm-side-inside" }),
    live: h("div", { class: "gm-live", "aria-live": "polite" }),
    found: h("span", { class: "gm-found" }),
    query: h("input", { type: "search", placeholder: "Search ids, classes, text", "aria-label": "Search", autocomplete: "off", spellcheck: "false" }),
    subtitle: h("p", {}),
    lasso: h("button", { type: "button", title: "Lasso (l)", "aria-label": "Lasso", "aria-pressed": "false" }, "Lasso"),
    tabs: TABS.map(([tab, name]) => h("button", { type: "button", role: "tab", "data-tab": tab }, name)),
  };

  constructor(
    private root: HTMLElement,
    private data: MapData,
    private address: boolean,
    given: Partial<State>,
  ) {
    this.start = startState(data);
    const limits = {
      levels: data.levels.length,
      dims: Math.max(2, data.levels[0].dims),
      glyphs: glyphChoices(data),
      colors: colorChoices(data).map(({ value }) => value),
    };
    const asked = address ? fromHash(location.hash, this.start, limits) : this.start;
    this.store = new Store({ ...asked, ...given });
    this.scenes = new Scenes(data);
    this.search = new Search(data);
    this.controls = controls(data, this.store);
    this.map = new MapView(data, this.store, this.scenes, () => this.theme(), () => this.found()?.prototypes ?? null, {
      hover: (k, x, y) => this.hover(k, x, y),
      pick: (k, add) => this.pick(k, add),
      lasso: (prototypes, add) => this.lasso(prototypes, add),
      resized: () => this.fillLegend(),
    });
    if (data.levels.length > 1) this.slider = new Slider(data, this.store);
    this.build();
    this.store.listen((state, before) => this.changed(state, before));
    this.listen();
    if (address) {
      addEventListener("hashchange", () => this.store.set(fromHash(location.hash, this.start, limits)), { signal: this.ends.signal });
    }
    this.changed(this.store.state, null);
  }

  get state(): State {
    return this.store.state;
  }

  update(patch: Partial<State>): void {
    this.store.set(patch);
  }

  placeOf(k: number): [number, number] {
    return this.map.placeOf(k);
  }

  destroy(): void {
    this.ends.abort();
    this.slider?.stop();
    this.store.clear();
    this.map.destroy();
    this.root.replaceChildren();
    this.root.classList.remove("gm");
    delete this.root.dataset.theme;
  }

  private theme(): Theme {
    const { theme } = this.store.state;
    const dark = theme === "auto" ? this.preference.matches : theme === "dark";
    return dark ? DARK : LIGHT;
  }

  private found(): Found | null {
    const { level, query } = this.store.state;
    return this.search.find(query, this.data.levels[Math.round(level)]);
  }

  private build(): void {
    const { parts, data } = this;
    const header = h(
      "header",
      { class: "gm-header" },
      h("div", { class: "gm-title" }, h("h1", { title: short(data.title, 400) }, short(data.title, 120)), parts.subtitle),
      h("div", { class: "gm-search" }, parts.query, parts.found),
      h("button", { type: "button", class: "gm-theme", title: "Light or dark (d)", "aria-label": "Light or dark", click: () => this.toggleTheme() }, "◐"),
      exportMenu({
        figure: () => this.figure(),
        level: () => this.data.levels[Math.round(this.store.state.level)],
        announce: (text) => this.announce(text),
      }),
    );
    const zoomers = h(
      "div",
      { class: "gm-zoom" },
      parts.lasso,
      h("button", { type: "button", title: "Zoom in (+)", "aria-label": "Zoom in", click: () => this.map.zoomBy(1.5) }, "+"),
      h("button", { type: "button", title: "Zoom out (-)", "aria-label": "Zoom out", click: () => this.map.zoomBy(1 / 1.5) }, "−"),
      h("button", { type: "button", title: "Show all (0)", "aria-label": "Show all", click: () => this.map.fit() }, "Fit"),
    );
    this.controls.element.append(zoomers);
    this.map.element.append(parts.card);
    const side = h("aside", { class: "gm-side", "aria-label": "Details" }, h("div", { class: "gm-tabs", role: "tablist" }, ...parts.tabs), parts.side);
    const stage = h("div", { class: "gm-stage" }, this.controls.element, this.map.element, parts.legend, this.slider?.element ?? null);
    this.root.classList.add("gm");
    this.root.replaceChildren(header, h("div", { class: "gm-body" }, stage, side), this.footer(), parts.live);
  }

  private footer(): HTMLElement {
    const { parameters, version, hash } = this.data;
    const entry = (name: string, value: string) => h("span", {}, h("i", {}, short(name, 60)), " ", short(value, 120));
    return h(
      "footer",
      { class: "gm-footer" },
      ...parameters.map(([name, value]) => entry(name, value)),
      entry("gromap", version),
      hash !== null && entry("data", hash),
    );
  }

  private figure(): Figure {
    const { clientWidth: width, clientHeight: height } = this.map.element;
    const emphasis = { ...this.map.emphasis(), hovered: null };
    return { data: this.data, state: this.store.state, scene: this.scenes.at(this.store.state, LIGHT), screen: this.map.screen(), emphasis, width, height };
  }

  private announce(text: string): void {
    const { live } = this.parts;
    live.textContent = text;
    live.classList.add("gm-told");
    setTimeout(() => live.classList.remove("gm-told"), 1800);
  }

  private toggleTheme(): void {
    this.store.set({ theme: this.theme().dark ? "light" : "dark" });
  }

  private hover(k: number | null, x: number, y: number): void {
    const box = this.parts.card;
    box.hidden = k === null;
    if (k === null) {
      delete box.dataset.prototype;
      return;
    }
    if (box.dataset.prototype !== String(k)) {
      box.dataset.prototype = String(k);
      box.replaceChildren(card(this.data, this.scenes.nearest(this.store.state, this.theme()), k, this.theme()));
    }
    const { clientWidth, clientHeight } = this.map.element;
    const { offsetWidth, offsetHeight } = box;
    const left = x + 18 + offsetWidth > clientWidth ? x - offsetWidth - 18 : x + 18;
    const top = Math.min(Math.max(8, y - 30), clientHeight - offsetHeight - 8);
    box.style.transform = `translate(${Math.max(8, left)}px, ${Math.max(8, top)}px)`;
  }

  private pick(k: number | null, add: boolean): void {
    const { selected } = this.store.state;
    if (k === null) this.store.set({ selected: [] });
    else if (add) this.store.set({ selected: selected.includes(k) ? selected.filter((other) => other !== k) : [...selected, k], tab: "prototype" });
    else this.store.set({ selected: [k], tab: "prototype" });
  }

  private lasso(prototypes: number[], add: boolean): void {
    const before = add ? this.store.state.selected : [];
    this.setLasso(false);
    this.store.set({ selected: [...new Set([...before, ...prototypes])], tab: "prototype" });
    this.announce(`${count(prototypes.length, "prototype")} selected`);
  }

  private setLasso(on: boolean): void {
    this.map.lassoMode = on;
    this.map.canvas.style.cursor = on ? "crosshair" : "grab";
    this.parts.lasso.setAttribute("aria-pressed", String(on));
  }

  private listen(): void {
    const { signal } = this.ends;
    const { query, lasso, tabs } = this.parts;
    query.addEventListener("input", () => this.store.set({ query: query.value }));
    lasso.addEventListener("click", () => this.setLasso(!this.map.lassoMode));
    for (const tab of tabs) tab.addEventListener("click", () => this.store.set({ tab: tab.dataset.tab as Tab }));
    this.preference.addEventListener("change", () => this.changed(this.store.state, null), { signal });
    this.root.addEventListener("keydown", (event) => this.key(event), { signal });
    document.addEventListener("keydown", (event) => {
      if (event.target === document.body) this.key(event);
    }, { signal });
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (event.key === "Escape") {
      this.setLasso(false);
      this.store.set({ selected: [], query: "" });
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    const act: Record<string, () => void> = {
      "+": () => this.map.zoomBy(1.4),
      "=": () => this.map.zoomBy(1.4),
      "-": () => this.map.zoomBy(1 / 1.4),
      "0": () => this.map.fit(),
      f: () => this.map.fit(),
      ArrowLeft: () => this.map.panBy(60, 0),
      ArrowRight: () => this.map.panBy(-60, 0),
      ArrowUp: () => this.map.panBy(0, 60),
      ArrowDown: () => this.map.panBy(0, -60),
      n: () => this.step(1),
      p: () => this.step(-1),
      l: () => this.setLasso(!this.map.lassoMode),
      d: () => this.toggleTheme(),
      "/": () => this.parts.query.focus(),
    };
    // Arrows also scroll lists and move between buttons; only the map gives them its meaning.
    if (!(event.key in act) || (event.key.startsWith("Arrow") && target !== this.map.canvas && target !== document.body)) return;
    event.preventDefault();
    act[event.key]();
  }

  /** Goes through the prototypes by weight. */
  private step(by: number): void {
    const { order } = this.scenes.nearest(this.store.state, this.theme());
    const at = order.indexOf(this.store.state.selected[0] ?? -1);
    const k = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length];
    this.pick(k, false);
    this.map.reveal(k);
  }

  /** Brings every part up to date with the state. */
  private changed(state: State, before: State | null): void {
    const differs = (...keys: (keyof State)[]) => !before || keys.some((key) => state[key] !== before[key]);
    const theme = this.theme();
    const stage = this.scenes.nearest(state, theme);
    const newLevel = !before || Math.round(state.level) !== Math.round(before.level);
    if (differs("theme")) this.root.dataset.theme = theme.dark ? "dark" : "light";
    this.controls.update(state);
    this.slider?.update();
    if (differs("level", "glyph", "color", "axes", "size", "spread")) this.map.point(null, 0, 0);
    if (differs("query") && this.parts.query.value !== state.query) this.parts.query.value = state.query;
    if (differs("query") || newLevel) this.tellFound();
    if (newLevel) this.parts.subtitle.textContent = `${count(stage.level.prototypes, "prototype")} of ${count(this.data.samples, "sample")}`;
    if (differs("level", "axes", "size", "spread", "view") && before) this.map.restore();
    const zoomed = state.view?.zoom !== before?.view?.zoom;
    if (differs("color", "glyph", "theme", "query", "size", "spread", "axes") || newLevel || zoomed) {
      this.fillLegend();
    }
    const sided = { overview: newLevel, prototype: differs("selected", "color", "query") || newLevel, list: differs("selected", "query") || newLevel };
    if (differs("tab", "theme") || sided[state.tab]) this.fillSide(state, theme);
    this.map.invalidate();
    if (this.address && before) this.remember();
  }

  private fillLegend(): void {
    const { state } = this.store;
    const stage = this.scenes.nearest(state, this.theme());
    const find = (query: string) => this.store.set({ query });
    this.parts.legend.replaceChildren(legend(this.data, stage, state, this.theme(), this.map.screen().markScale, find));
  }

  private tellFound(): void {
    const found = this.found();
    this.parts.found.textContent = found ? `${count(found.count, "sample")} in ${count(found.prototypes.size, "prototype")}` : "";
  }

  private fillSide(state: State, theme: Theme): void {
    const { data, parts } = this;
    for (const tab of parts.tabs) tab.setAttribute("aria-selected", String(tab.dataset.tab === state.tab));
    const stage = this.scenes.nearest(state, theme);
    const select = (selected: number[]) => {
      this.store.set({ selected, tab: "prototype" });
      if (selected.length === 1) this.map.reveal(selected[0]);
    };
    const content = {
      overview: () => overview(data, stage, theme, (k) => select([k])),
      prototype: () => panel({ data, stage, theme, found: this.found(), select, announce: (text) => this.announce(text) }, state.selected),
      list: () => list(data, stage, new Set(state.selected), this.found()?.prototypes ?? null, (k) => select([k])),
    }[state.tab]();
    parts.side.replaceChildren(content);
    if (state.tab !== "list") parts.side.scrollTop = 0;
  }

  private timer = 0;

  /** Writes the state into the address, not for every frame of a movement. */
  private remember(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      try {
        history.replaceState(null, "", `#${toHash(this.store.state, this.start)}`);
      } catch {
        // A page inside another may have no address of its own.
      }
    }, 150);
  }
}
