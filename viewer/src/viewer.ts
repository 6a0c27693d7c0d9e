// The page: puts the parts together, and keeps them telling the same story.

import { startState, type Options, type Viewer } from "./api";
import { colorChoices } from "./coloring";
import { DARK, LIGHT, type Theme } from "./colors";
import { controls, glyphChoices } from "./controls";
import { labelsOf, type MapData } from "./data";
import { count, h, short } from "./dom";
import { exportMenu } from "./exports";
import type { Figure } from "./figure";
import { noun } from "./glossary";
import { footer, helpDialog, sentence } from "./help";
import { HoverCard } from "./hover";
import { keyActions } from "./keys";
import { legend } from "./legend";
import { MapView, type Target } from "./map";
import type { Size } from "./painter";
import { printing, type Printer } from "./print";
import { Scenes } from "./scene";
import { Search, searched, type Found } from "./search";
import { sideOf } from "./side";
import { Slider } from "./slider";
import type { TraitKind } from "./traits";
import { fromHash, Store, toHash, type State, type Tab } from "./state";

const TABS: [Tab, string][] = [
  ["overview", "Overview"],
  ["prototype", "Prototype"],
  ["groups", "Groups"],
  ["list", "List"],
];

/** Puts a map into an element, as high as its `--gromap-height`, or as the window. */
export function mount(root: HTMLElement, data: MapData, options: Options = {}): Viewer {
  return new Page(root, data, options);
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
    legend: h("div", { class: "gm-legend" }),
    side: h("div", { class: "gm-side-inside", id: "gm-side", role: "tabpanel", tabindex: 0 }),
    live: h("div", { class: "gm-live", "aria-live": "polite" }),
    found: h("span", { class: "gm-found" }),
    query: h("input", { type: "search", "aria-label": "Search", autocomplete: "off", spellcheck: "false" }),
    subtitle: h("p", {}),
    outside: h("button", { type: "button", class: "gm-outside", hidden: true, title: "They lie far from the others, which would be small with them in sight" }),
    sheet: h("button", { type: "button", class: "gm-sheet", "aria-expanded": "false", "aria-controls": "gm-side", "aria-label": "Details" }, h("i", {})),
    lasso: h("button", { type: "button", title: "Lasso (l)", "aria-label": "Lasso", "aria-pressed": "false" }, "Lasso"),
    tabs: TABS.map(([tab, name]) => h("button", { type: "button", role: "tab", id: `gm-tab-${tab}`, "aria-controls": "gm-side", "data-tab": tab }, name)),
  };
  private help: HTMLDialogElement;
  private printer!: Printer;
  private card: HoverCard;
  private kind: TraitKind | null = null;

  constructor(
    private root: HTMLElement,
    private data: MapData,
    private options: Options,
  ) {
    const { address } = options;
    this.start = startState(data);
    this.card = new HoverCard(data, () => this.scenes.nearest(this.store.state, this.theme()), () => this.theme());
    const limits = {
      levels: data.levels.length,
      dims: Math.max(2, data.levels[0].dims),
      samples: data.samples,
      glyphs: glyphChoices(data),
      colors: colorChoices(data).map(({ value }) => value),
    };
    const asked = address ? fromHash(location.hash, this.start, limits) : this.start;
    this.store = new Store({ ...asked, ...options.state });
    // A view that was asked for is one of the map as it lies on a wide window.
    const upright = this.store.state.view === null && root.clientWidth > 0 && root.clientWidth < 0.7 * innerHeight;
    this.scenes = new Scenes(data, upright);
    this.help = helpDialog(data, this.scenes.turn);
    this.search = new Search(data);
    this.parts.query.placeholder = `Search ${searched(data).join(", ")}`;
    this.controls = controls(data, this.store);
    this.map = new MapView(data, this.store, this.scenes, () => this.theme(), () => this.found(), {
      hover: (target, x, y) => this.card.show(target, x, y),
      pick: (target, add) => this.pickTarget(target, add),
      lasso: (prototypes, add) => this.lasso(prototypes, add),
      resized: () => {
        this.fillLegend();
        this.tellOutside();
      },
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
      h("button", { type: "button", class: "gm-about", title: "How to read this (?)", "aria-label": "How to read this", click: () => this.explain() }, "?"),
      h("button", { type: "button", class: "gm-theme", title: "Light or dark (d)", "aria-label": "Light or dark", click: () => this.toggleTheme() }, "◐"),
      exportMenu(
        {
          figure: () => this.figure(this.map),
          print: () => this.printer.figure(),
          level: () => this.data.levels[Math.round(this.store.state.level)],
          announce: (text) => this.announce(text),
        },
        this.ends.signal,
      ),
    );
    const zoomers = h(
      "div",
      { class: "gm-zoom" },
      parts.lasso,
      h("button", { type: "button", title: "Zoom in (+)", "aria-label": "Zoom in", click: () => this.map.zoomBy(1.5) }, "+"),
      h("button", { type: "button", title: "Zoom out (-)", "aria-label": "Zoom out", click: () => this.map.zoomBy(1 / 1.5) }, "−"),
      h("button", { type: "button", title: "Show all (0)", "aria-label": "Fit: show all", click: () => this.map.fit() }, "Fit"),
    );
    this.controls.element.append(zoomers);
    this.map.element.append(this.card.element, parts.outside);
    const tabs = h("div", { class: "gm-tabs", role: "tablist", "aria-label": "Details" }, ...parts.tabs);
    const side = h("aside", { class: "gm-side", "aria-label": "Details" }, parts.sheet, tabs, parts.side);
    const stage = h("div", { class: "gm-stage" }, this.controls.element, this.map.element, parts.legend, this.slider?.element ?? null);
    this.root.classList.add("gm");
    this.root.replaceChildren(header, h("div", { class: "gm-body" }, stage, side), footer(data, () => this.explain(".gm-made")), parts.live, this.help);
    this.printer = printing(this.root, { here: () => this.figure(this.map), on: (sheet) => this.figure(sheet) }, this.ends.signal);
  }

  /** Opens "How to read this", at its beginning or at a part of it. */
  private explain(part?: string): void {
    if (!this.help.open) this.help.showModal();
    const target = part ? this.help.querySelector(part) : null;
    if (target) target.scrollIntoView();
    else this.help.scrollTop = 0;
  }

  /** What the window shows, on a sheet of some size. */
  private figure({ width, height }: Size): Figure {
    const emphasis = { ...this.map.emphasis(), hovered: null, samples: [] };
    return { data: this.data, state: this.store.state, scene: this.scenes.at(this.store.state, LIGHT), screen: this.map.screenOn({ width, height }), emphasis, width, height };
  }

  private silence = 0;

  private announce(text: string, time = 1800): void {
    const { live } = this.parts;
    live.textContent = text;
    live.classList.add("gm-told");
    clearTimeout(this.silence);
    this.silence = setTimeout(() => live.classList.remove("gm-told"), time);
  }

  private toggleTheme(): void {
    this.store.set({ theme: this.theme().dark ? "light" : "dark" });
  }

  private pickTarget(target: Target | null, add: boolean): void {
    const { level } = this.scenes.nearest(this.store.state, this.theme());
    if (target && "sample" in target) this.store.set({ sample: target.sample, selected: [labelsOf(this.data, level)[target.sample]], tab: "prototype" });
    else this.pick(target?.prototype ?? null, add);
    if (!target) return;
    this.setSheet(true);
    const [side, map] = [this.root.querySelector<HTMLElement>(".gm-side")!, this.map.element.getBoundingClientRect()];
    // What was tapped stays in sight above the sheet.
    const top = this.root.getBoundingClientRect().bottom - side.offsetHeight;
    const [k] = this.store.state.selected;
    if (getComputedStyle(side).position === "absolute" && k !== undefined) this.map.reveal(k, Math.max(0, map.bottom - top));
  }

  private pick(k: number | null, add: boolean): void {
    const { selected, tab } = this.store.state;
    // Groups follow the selection; every other tab gives way to the prototype.
    const next = tab === "groups" ? tab : "prototype";
    if (k === null) this.store.set({ selected: [], sample: null });
    else if (add) this.store.set({ selected: selected.includes(k) ? selected.filter((other) => other !== k) : [...selected, k], sample: null, tab: next });
    else this.store.set({ selected: [k], sample: null, tab: next });
  }

  /** On a small screen details come up over the map. */
  private setSheet(open: boolean): void {
    this.root.classList.toggle("gm-open", open);
    this.parts.sheet.setAttribute("aria-expanded", String(open));
  }

  private lasso(prototypes: number[], add: boolean): void {
    const before = add ? this.store.state.selected : [];
    this.setLasso(false);
    this.store.set({ selected: [...new Set([...before, ...prototypes])], sample: null, tab: this.store.state.tab === "groups" ? "groups" : "prototype" });
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
    tabs.forEach((tab, i) => {
      tab.addEventListener("click", () => {
        this.setSheet(true);
        this.store.set({ tab: tab.dataset.tab as Tab });
      });
      // Only the tab that is shown is in the order of the focus; arrows lead to the others.
      tab.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
        if (!step) return;
        event.preventDefault();
        const next = tabs[(i + step + tabs.length) % tabs.length];
        next.focus();
        next.click();
      });
    });
    this.parts.sheet.addEventListener("click", () => this.setSheet(!this.root.classList.contains("gm-open")));
    this.parts.outside.addEventListener("click", () => this.map.showAll());
    // A word that was pressed says what it means.
    this.root.addEventListener("click", (event) => {
      const { meaning } = (event.target as HTMLElement).dataset ?? {};
      if (meaning) this.announce(meaning, 6000);
    }, { signal });
    this.preference.addEventListener("change", () => this.changed(this.store.state, null), { signal });
    this.root.addEventListener("keydown", (event) => this.key(event), { signal });
    // In a page of others, keys are theirs until the map has the focus.
    document.addEventListener("keydown", (event) => {
      if (this.options.address && event.target === document.body) this.key(event);
    }, { signal });
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    // The dialog has keys of its own.
    if (this.help.open) return;
    if (event.key === "Escape") {
      this.setLasso(false);
      this.setSheet(false);
      this.store.set({ selected: [], sample: null, query: "" });
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(target.tagName)) return;
    const act = this.actions[event.key];
    // Arrows also scroll lists and move between buttons; only the map gives them its meaning.
    if (!act || (event.key.startsWith("Arrow") && target !== this.map.canvas && target !== document.body)) return;
    event.preventDefault();
    act();
  }

  private actions = keyActions({
    zoom: (factor) => this.map.zoomBy(factor),
    fit: () => this.map.fit(),
    pan: (dx, dy) => this.map.panBy(dx, dy),
    step: (by) => this.step(by),
    lasso: () => this.setLasso(!this.map.lassoMode),
    theme: () => this.toggleTheme(),
    samples: () => this.store.set({ samples: !this.store.state.samples }),
    search: () => this.parts.query.focus(),
    explain: () => this.explain(),
  });

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
    if (differs("level", "glyph", "color", "axes", "size", "spread", "samples")) this.map.point(null, 0, 0);
    if (differs("query") && this.parts.query.value !== state.query) this.parts.query.value = state.query;
    if (differs("query") || newLevel) this.tellFound();
    if (newLevel) this.parts.subtitle.replaceChildren(h("b", {}, `${count(stage.level.prototypes, "prototype")} of ${count(this.data.samples, noun(this.data))}`), ` ${sentence(this.data, stage.level.prototypes)}`);
    if (differs("level", "axes", "size", "spread", "samples", "view") && before) this.map.restore();
    if (differs("level", "axes", "size", "spread", "samples", "view")) this.tellOutside();
    const zoomed = state.view?.zoom !== before?.view?.zoom;
    if (differs("color", "glyph", "theme", "query", "size", "spread", "samples", "axes", "links") || newLevel || zoomed) {
      this.fillLegend();
    }
    const sided = { overview: newLevel, prototype: differs("selected", "sample", "color", "query") || newLevel, groups: differs("selected", "kept") || newLevel, list: differs("selected", "query") || newLevel };
    if (differs("tab", "theme") || sided[state.tab]) this.fillSide(state, theme);
    this.map.invalidate();
    if (before) this.options.changed?.(state);
    if (this.options.address && before) this.remember();
  }

  private fillLegend(): void {
    const { state } = this.store;
    const stage = this.scenes.nearest(state, this.theme());
    const find = (query: string) => this.store.set({ query });
    this.parts.legend.replaceChildren(legend(this.data, stage, state, this.theme(), this.map.screen().markScale, find));
  }

  /** Says that something lies far away, while the map is fitted without it. */
  private tellOutside(): void {
    const found = this.store.state.view ? 0 : this.map.outside;
    this.parts.outside.hidden = found === 0;
    this.parts.outside.textContent = `${count(found, "prototype")} outside: show all`;
  }

  private tellFound(): void {
    const found = this.found();
    this.parts.found.textContent = found ? `${count(found.count, noun(this.data))} in ${count(found.prototypes.size, "prototype")}` : "";
  }

  private fillSide(state: State, theme: Theme): void {
    const { data, parts } = this;
    for (const tab of parts.tabs) {
      const on = tab.dataset.tab === state.tab;
      tab.setAttribute("aria-selected", String(on));
      tab.tabIndex = on ? 0 : -1;
    }
    const select = (selected: number[]) => {
      this.store.set({ selected, sample: null, tab: "prototype" });
      if (selected.length === 1) this.map.reveal(selected[0]);
    };
    const turn = (kind: TraitKind) => {
      this.kind = kind;
      this.fillSide(this.store.state, this.theme());
    };
    const announce = (text: string) => this.announce(text);
    const set = (patch: Partial<State>) => this.store.set(patch);
    const content = sideOf({ data, stage: this.scenes.nearest(state, theme), theme, state, found: this.found(), kind: this.kind, turn, select, set, announce });
    parts.side.replaceChildren(content);
    parts.side.setAttribute("aria-labelledby", `gm-tab-${state.tab}`);
    const looked = state.tab === "prototype" && state.sample !== null ? parts.side.querySelector(".gm-sample-inside") : null;
    if (looked) looked.scrollIntoView({ block: "nearest" });
    else if (state.tab !== "list") parts.side.scrollTop = 0;
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
