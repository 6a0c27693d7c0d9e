// The menu of what can leave the page: pictures, tables, and a link back.

import { csv } from "./csv";
import type { Level } from "./data";
import { copy, download, h } from "./dom";
import { toPng, toSvg, type Figure } from "./figure";

export interface ExportContext {
  figure(): Figure;
  /** Prints the figure alone, for a browser to save as PDF. */
  print(): void;
  level(): Level;
  announce(text: string): void;
}

const WHITE = "#ffffff";

export function exportMenu(context: ExportContext, signal: AbortSignal): HTMLElement {
  const item = (name: string, act: () => void | Promise<void>) => {
    const choose = async () => {
      menu.open = false;
      await act();
    };
    return h("button", { type: "button", click: choose }, name);
  };
  const menu: HTMLDetailsElement = h(
    "details",
    { class: "gm-export" },
    h("summary", {}, "Export"),
    h(
      "div",
      {},
      item("SVG", () => saveSvg(context, WHITE)),
      item("SVG, transparent", () => saveSvg(context, null)),
      item("PDF, by printing", () => context.print()),
      item("PNG, white", () => savePng(context, WHITE)),
      item("PNG, transparent", () => savePng(context, null)),
      item("CSV of all samples", () => saveCsv(context)),
      item("Copy a link to this view", () => copyLink(context)),
    ),
  );
  // A press elsewhere closes it, and so does Escape, which then means nothing else.
  document.addEventListener("pointerdown", ({ target }) => menu.contains(target as Node) || (menu.open = false), { signal });
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary")!.focus();
  });
  return menu;
}

function saveSvg(context: ExportContext, ground: string | null): void {
  download("map.svg", new Blob([toSvg(context.figure(), ground)], { type: "image/svg+xml" }));
  context.announce("SVG saved");
}

async function savePng(context: ExportContext, ground: string | null): Promise<void> {
  download("map.png", await toPng(context.figure(), ground));
  context.announce("PNG saved");
}

function saveCsv(context: ExportContext): void {
  const level = context.level();
  const all = Array.from({ length: level.prototypes }, (_, k) => k);
  download("samples.csv", new Blob([csv(context.figure().data, level, all)], { type: "text/csv" }));
  context.announce("CSV saved");
}

async function copyLink(context: ExportContext): Promise<void> {
  await copy(location.href);
  context.announce("Link copied");
}
