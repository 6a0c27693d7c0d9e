// The card that follows the pointer, inside the map.

import type { Theme } from "./colors";
import { labelsOf, type MapData } from "./data";
import { card, sampleCard } from "./details";
import { h } from "./dom";
import type { Target } from "./map";
import type { Stage } from "./scene";

/** Space between the pointer and the card, and between the card and the edge. */
const BESIDE = 18;
const EDGE = 8;

export class HoverCard {
  readonly element = h("div", { class: "gm-card", hidden: true });

  constructor(
    private data: MapData,
    private stage: () => Stage,
    private theme: () => Theme,
  ) {}

  show(target: Target | null, x: number, y: number): void {
    const { element, data } = this;
    element.hidden = target === null;
    const key = target === null ? "" : JSON.stringify(target);
    if (target && element.dataset.target !== key) {
      const stage = this.stage();
      const inside = "prototype" in target ? card(data, stage, target.prototype, this.theme()) : sampleCard(data, stage, target.sample, labelsOf(data, stage.level)[target.sample]);
      element.replaceChildren(inside);
    }
    element.dataset.target = key;
    const map = element.parentElement;
    if (target === null || !map) return;
    const { offsetWidth, offsetHeight } = element;
    const left = x + BESIDE + offsetWidth > map.clientWidth ? x - offsetWidth - BESIDE : x + BESIDE;
    const top = Math.min(Math.max(EDGE, y - 30), map.clientHeight - offsetHeight - EDGE);
    element.style.transform = `translate(${Math.max(EDGE, left)}px, ${Math.max(EDGE, top)}px)`;
  }
}
