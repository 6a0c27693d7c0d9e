// On paper: the title, what it says, the map as vectors and its legend, on one page.

import { h } from "./dom";
import { toSvg, type Figure } from "./figure";

/** Puts the map into the page as vectors when it is printed, and takes it out again. */
export function printing(root: HTMLElement, figure: () => Figure, signal: AbortSignal): void {
  const sheet = h("div", { class: "gm-print" });
  const fill = () => {
    const drawn = new DOMParser().parseFromString(toSvg(figure(), null), "image/svg+xml").documentElement;
    sheet.replaceChildren(document.importNode(drawn, true));
    root.insertBefore(sheet, root.querySelector("footer"));
  };
  addEventListener("beforeprint", fill, { signal });
  addEventListener("afterprint", () => sheet.remove(), { signal });
}
