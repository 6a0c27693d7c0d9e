// Elements without a framework. Text goes in as text: nothing a user wrote is ever read as markup.

type Child = Node | string | null | undefined | false;
type Attributes = Record<string, unknown>;

/** Makes an element; attributes that are functions become listeners, null and false are left out. */
export function h<K extends keyof HTMLElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): HTMLElementTagNameMap[K] {
  return filled(document.createElement(tag), attributes, children);
}

/** The same for SVG. */
export function s<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Attributes = {}, ...children: Child[]): SVGElementTagNameMap[K] {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function filled<E extends Element>(element: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value as EventListener);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => Boolean(child)));
  return element;
}

/** A number for people: digits that count, and all before the point; from five digits on thousands are apart, so that years are not. */
export function shown(value: number, digits = 3): string {
  return Number.isFinite(value) ? written(value, digits).replace("-", "−") : "–";
}

function written(value: number, digits: number): string {
  const size = Math.abs(value);
  if (size >= 1e15 || (size > 0 && size < 1e-4)) return value.toExponential(Math.max(0, digits - 1));
  if (size >= 1000) return value.toLocaleString("en", { maximumFractionDigits: 0, useGrouping: size >= 9999.5 });
  return value.toLocaleString("en", { maximumSignificantDigits: digits });
}

export function percent(share: number): string {
  return Number.isFinite(share) ? `${shown(100 * share)} %` : "–";
}

/** A count with its noun. */
export function count(value: number, noun: string, nouns = `${noun}s`): string {
  return `${value.toLocaleString("en")} ${value === 1 ? noun : nouns}`;
}

/** The start of a long text. */
export function short(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

/** Hands a file to the browser. */
export function download(name: string, content: Blob): void {
  const link = h("a", { href: URL.createObjectURL(content), download: name });
  link.click();
  // The download has begun, and the memory can go.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** Puts text on the clipboard, also from a file, where the modern way may be closed. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = h("textarea", { style: "position:fixed;opacity:0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
