// What keys do on the map; `help.ts` lists them.

export interface KeyTargets {
  zoom(factor: number): void;
  fit(): void;
  pan(dx: number, dy: number): void;
  step(by: number): void;
  lasso(): void;
  theme(): void;
  samples(): void;
  search(): void;
  explain(): void;
}

export function keyActions(on: KeyTargets): Record<string, (() => void) | undefined> {
  const actions: Record<string, () => void> = {
    "+": () => on.zoom(1.4),
    "=": () => on.zoom(1.4),
    "-": () => on.zoom(1 / 1.4),
    "0": on.fit,
    f: on.fit,
    ArrowLeft: () => on.pan(60, 0),
    ArrowRight: () => on.pan(-60, 0),
    ArrowUp: () => on.pan(0, 60),
    ArrowDown: () => on.pan(0, -60),
    n: () => on.step(1),
    p: () => on.step(-1),
    s: on.samples,
    l: on.lasso,
    d: on.theme,
    "/": on.search,
    "?": on.explain,
  };
  // Only what is listed: names that every object has are no keys.
  return Object.assign(Object.create(null), actions);
}
