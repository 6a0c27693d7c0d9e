// The panel of what is selected: one prototype with its members, or several with what they hold together.

import { classColor, type Theme } from "./colors";
import { csv } from "./csv";
import { idOf, membersOf, type MapData } from "./data";
import { classBars, facts, nearest, outstanding, portraits, quote, sampleDetail } from "./details";
import { copy, count, download, h, percent, short, shown } from "./dom";
import { factList } from "./glossary";
import { labelOf } from "./labels";
import { linkedBy, linksOf } from "./links";
import type { Stage } from "./scene";
import type { Found } from "./search";
import { thumbnail } from "./sprites";

const PAGE = 48;
/** Columns that a table of members shows. */
const COLUMNS = 3;

export interface PanelContext {
  data: MapData;
  stage: Stage;
  theme: Theme;
  found: Found | null;
  /** A sample that is looked at. */
  sample: number | null;
  /** Tells which one is. */
  look(sample: number): void;
  select(prototypes: number[]): void;
  announce(text: string): void;
}

/** The content of the panel for a selection. */
export function panel(context: PanelContext, selected: number[]): HTMLElement {
  const known = selected.filter((k) => k < context.stage.level.prototypes);
  if (known.length === 0) {
    return h(
      "div",
      { class: "gm-empty" },
      h("p", {}, "Click a prototype to see its members: the most typical first, the farthest last."),
      h("p", {}, "Shift and drag, or the lasso, selects several."),
    );
  }
  return known.length === 1 ? onePrototype(context, known[0]) : several(context, known);
}

function onePrototype(context: PanelContext, k: number): HTMLElement {
  const { data, stage, theme } = context;
  const near = nearest(stage, k, 6);
  const label = labelOf(data, stage.level, k);
  return h(
    "div",
    { class: "gm-prototype" },
    h("h2", {}, `Prototype ${k}`),
    label !== null && h("p", { class: "gm-label" }, short(label, 200)),
    portraits(data, stage, k),
    !data.pictures && quote(data, membersOf(stage.level, k)[0], 400, label),
    facts(data, stage, k),
    data.classes && h("h3", {}, "Classes"),
    classBars(data, stage, k, theme, 6),
    outstanding(data, stage, k) && h("h3", {}, "Stands out by"),
    outstanding(data, stage, k),
    ...linked(context, k),
    near.length > 0 && h("h3", {}, "Nearest prototypes"),
    near.length > 0 && h("div", { class: "gm-chips" }, ...near.map((other) => h("button", { type: "button", click: () => context.select([other]) }, chip(context, other)))),
    members(context, k),
  );
}

/** What it is linked to, the strongest first, and by how much. */
function linked(context: PanelContext, k: number): HTMLElement[] {
  const found = linksOf(context.stage.level, k).slice(0, 8);
  if (!found.length) return [];
  const chips = found.map(({ other, share }) => h("button", { type: "button", click: () => context.select([other]) }, `${chip(context, other)} · ${percent(share)}`));
  return [h("h3", {}, `Links, by share of all ${linkedBy(context.data)}`), h("div", { class: "gm-chips" }, ...chips)];
}

/** The number of a prototype with its label, if it has one. */
function chip({ data, stage }: PanelContext, k: number): string {
  const label = labelOf(data, stage.level, k);
  return label === null ? `#${k}` : `#${k} ${short(label, 22)}`;
}

/** Copy and download, for some prototypes. */
function actions(context: PanelContext, prototypes: number[], name: string): HTMLElement {
  const { data, stage } = context;
  const ids = () => [...new Set(prototypes.flatMap((k) => Array.from(membersOf(stage.level, k))))].map((sample) => idOf(data, sample));
  const copyIds = async () => {
    const names = ids();
    await copy(names.join("\n"));
    context.announce(`${count(names.length, "id")} copied`);
  };
  const save = () => download(`${name}.csv`, new Blob([csv(data, stage.level, prototypes)], { type: "text/csv" }));
  return h(
    "div",
    { class: "gm-actions" },
    h("button", { type: "button", click: copyIds }, "Copy ids"),
    h("button", { type: "button", click: save }, "Download CSV"),
  );
}

function members(context: PanelContext, k: number): HTMLElement {
  const { data, stage } = context;
  const all = membersOf(stage.level, k);
  const box = h("div", { class: "gm-members" });
  const detail = h("div", { class: "gm-sample", "aria-live": "polite" });
  const order = stage.level.ordered ? "the most typical first, the farthest last" : "in the order of the data";
  const at = context.sample === null ? -1 : all.indexOf(context.sample);
  if (at >= 0) detail.replaceChildren(sampleDetail(data, context.sample!));
  let page = Math.max(0, Math.floor(at / PAGE));
  const pages = Math.ceil(all.length / PAGE);
  const status = h("span", {});
  const turn = (step: number) => () => {
    page = Math.min(pages - 1, Math.max(0, page + step));
    show();
  };
  const back = h("button", { type: "button", "aria-label": "Previous members", click: turn(-1) }, "‹");
  const forth = h("button", { type: "button", "aria-label": "Next members", click: turn(1) }, "›");
  const show = () => {
    const start = page * PAGE;
    const shownNow = all.subarray(start, start + PAGE);
    box.replaceChildren(data.pictures ? thumbnails(context, shownNow) : rows(context, k, start, shownNow));
    status.textContent = `${start + 1}–${start + shownNow.length} of ${all.length.toLocaleString("en")}`;
    back.disabled = page === 0;
    forth.disabled = page >= pages - 1;
  };
  show();
  return h(
    "section",
    {},
    h("h3", {}, "Members"),
    h("p", { class: "gm-note" }, order),
    actions(context, [k], `prototype-${k}`),
    detail,
    box,
    pages > 1 && h("nav", { class: "gm-pages", "aria-label": "Pages of members" }, back, status, forth),
  );
}

function isFound({ found }: PanelContext, sample: number): boolean {
  return Boolean(found?.samples?.[sample]);
}

function thumbnails(context: PanelContext, samples: Uint32Array): HTMLElement {
  const { data, theme } = context;
  const tiles = Array.from(samples, (sample) => {
    const picture = thumbnail(data, sample);
    const of = data.classes ? data.classes.of[sample] : null;
    const name = short(idOf(data, sample), 60);
    return h(
      "button",
      {
        type: "button",
        class: isFound(context, sample) ? "gm-thumb gm-hit" : "gm-thumb",
        title: of === null ? name : `${name}: ${short(data.classes!.names[of], 60)}`,
        style: of === null ? null : `--class:${classColor(data, of, theme)}`,
        "aria-pressed": String(context.sample === sample),
        click: () => context.look(sample),
      },
      picture ?? h("span", { class: "gm-nopicture" }, "no picture here"),
      h("span", {}, name),
    );
  });
  return h("div", { class: "gm-thumbs" }, ...tiles);
}

function rows(context: PanelContext, k: number, start: number, samples: Uint32Array): HTMLElement {
  const { data, stage } = context;
  const columns = data.columns.slice(0, COLUMNS);
  const { shares, offsets } = stage.level;
  const head = ["id", ...(data.classes ? ["class"] : []), ...columns.map(({ name }) => short(name, 24)), ...(shares ? ["share"] : [])];
  const body = Array.from(samples, (sample, i) => {
    const cells = [
      short(idOf(data, sample), 60),
      ...(data.classes ? [short(data.classes.names[data.classes.of[sample]], 40)] : []),
      ...columns.map((column) => (column.numbers ? shown(column.numbers[sample]) : short(column.text![sample], 140))),
      ...(shares ? [percent(shares[offsets[k] + start + i])] : []),
    ];
    const [first, ...others] = cells;
    const open = h("button", { type: "button", title: "Everything known of this sample", click: () => context.look(sample) }, first);
    return h("tr", { class: isFound(context, sample) ? "gm-hit" : null }, h("td", { class: breaks(first) }, open), ...others.map((cell) => h("td", { class: breaks(cell) }, cell)));
  });
  return h("table", { class: "gm-table" }, h("thead", {}, h("tr", {}, ...head.map((name) => h("th", { scope: "col", class: breaks(name) }, name)))), h("tbody", {}, ...body));
}

/** Words too long for a column are broken, others are not. */
function breaks(text: string): string | null {
  return /\S{17}/.test(text) ? "gm-breaks" : null;
}

function several(context: PanelContext, prototypes: number[]): HTMLElement {
  const { data, stage, theme } = context;
  const { level } = stage;
  const weight = prototypes.reduce((sum, k) => sum + level.weights[k], 0);
  const samples = new Set(prototypes.flatMap((k) => Array.from(membersOf(level, k))));
  const entries: [string, string][] = [["prototypes", String(prototypes.length)], ["samples", samples.size.toLocaleString("en")], ["weight", percent(weight)]];
  return h(
    "div",
    { class: "gm-prototype" },
    h("h2", {}, "Selection"),
    factList(entries),
    actions(context, prototypes, "selection"),
    data.classes && h("h3", {}, "Classes"),
    data.classes && together(context, samples, theme),
    h("h3", {}, "Prototypes"),
    h("div", { class: "gm-chips" }, ...prototypes.slice(0, 200).map((k) => h("button", { type: "button", click: () => context.select([k]) }, chip(context, k)))),
  );
}

/** Classes of the samples of a selection. */
function together({ data }: PanelContext, samples: Set<number>, theme: Theme): HTMLElement {
  const counts = new Map<number, number>();
  for (const sample of samples) counts.set(data.classes!.of[sample], (counts.get(data.classes!.of[sample]) ?? 0) + 1);
  const sorted = [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, 12);
  return h(
    "ul",
    { class: "gm-classes" },
    ...sorted.map(([of, found]) =>
      h(
        "li",
        {},
        h("i", { style: `background:${classColor(data, of, theme)};width:${((100 * found) / samples.size).toFixed(1)}%` }),
        h("span", {}, short(data.classes!.names[of], 60)),
        h("b", {}, percent(found / samples.size)),
      ),
    ),
  );
}
