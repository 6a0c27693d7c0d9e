// On paper: the title, what it says, the map as vectors and its legend, on one page; or the figure alone, on a page of its own size,
// which browsers save as PDF.

import { h } from "./dom";
import { toSvg, type Figure } from "./figure";
import type { Size } from "./painter";

/** The map on a sheet of paper across, below its title, in pixels of CSS: A4 and Letter have room for it. */
const SHEET: Size = { width: 1000, height: 540 };

export interface Figures {
  /** As the window shows it. */
  here(): Figure;
  /** The same on a sheet of another size. */
  on(sheet: Size): Figure;
}

export interface Printer {
  /** Prints the figure alone. */
  figure(): void;
}

/** Puts the map into the page as vectors when it is printed, and takes it out again. */
export function printing(root: HTMLElement, figures: Figures, signal: AbortSignal): Printer {
  const sheet = h("div", { class: "gm-print" });
  let alone = false;
  const fill = () => {
    const drawn = new DOMParser().parseFromString(toSvg(alone ? figures.here() : figures.on(SHEET), null), "image/svg+xml").documentElement;
    const size = `${drawn.getAttribute("width")}px ${drawn.getAttribute("height")}px`;
    sheet.replaceChildren(document.importNode(drawn, true), ...(alone ? [h("style", {}, `@page { size: ${size}; margin: 0; }`)] : []));
    root.classList.toggle("gm-alone", alone);
    root.insertBefore(sheet, root.querySelector("footer"));
  };
  const clear = () => {
    alone = false;
    sheet.remove();
    root.classList.remove("gm-alone");
  };
  addEventListener("beforeprint", fill, { signal });
  addEventListener("afterprint", clear, { signal });
  return {
    figure: () => {
      alone = true;
      print();
    },
  };
}
