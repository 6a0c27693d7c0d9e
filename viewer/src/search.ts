// Which samples, and so which prototypes, a text is about.
//
// "#12" is a prototype, "class=Shirt" a class by its whole name; any other text is looked for in names, classes and text
// columns, whatever its case.

import { idOf, type Level, type MapData } from "./data";

/** What is looked through. */
export function searched(data: MapData): string[] {
  return ["ids", ...(data.classes ? ["classes"] : []), ...(data.columns.some(({ text }) => text) ? ["text"] : [])];
}

export interface Found {
  prototypes: Set<number>;
  /** One flag for each sample; null when prototypes were named. */
  samples: Uint8Array | null;
  count: number;
}

export class Search {
  private texts: string[] | null = null;
  private last: { query: string; level: Level; found: Found | null } | null = null;

  constructor(private data: MapData) {}

  /** What a query finds on a level; null for an empty one. */
  find(query: string, level: Level): Found | null {
    if (this.last?.query === query && this.last.level === level) return this.last.found;
    const wanted = query.trim();
    const found = wanted ? this.search(wanted, level) : null;
    this.last = { query, level, found };
    return found;
  }

  private search(wanted: string, level: Level): Found {
    const numbered = /^#(\d+)$/.exec(wanted);
    if (numbered) {
      const k = Number(numbered[1]);
      const exists = k < level.prototypes;
      return { prototypes: new Set(exists ? [k] : []), samples: null, count: exists ? level.offsets[k + 1] - level.offsets[k] : 0 };
    }
    const samples = this.matches(wanted);
    const prototypes = new Set<number>();
    for (let k = 0; k < level.prototypes; k++) {
      for (let i = level.offsets[k]; i < level.offsets[k + 1]; i++) {
        if (samples[level.members[i]] && (!level.shares || level.shares[i] >= 0.5)) {
          prototypes.add(k);
          break;
        }
      }
    }
    return { prototypes, samples, count: samples.reduce((sum, flag) => sum + flag, 0) };
  }

  private matches(wanted: string): Uint8Array {
    const { data } = this;
    const exact = wanted.startsWith("class=") && data.classes ? wanted.slice(6) : null;
    if (exact !== null) {
      const named = data.classes!.names.map((name) => name === exact);
      return Uint8Array.from(data.classes!.of, (of) => Number(named[of]));
    }
    this.texts ??= this.lines();
    const lower = wanted.toLowerCase();
    return Uint8Array.from(this.texts, (text) => Number(text.includes(lower)));
  }

  /** Everything that can be searched of each sample, apart from each other by a character nobody types. */
  private lines(): string[] {
    const { data } = this;
    const columns = data.columns.filter((column) => column.text);
    return Array.from({ length: data.samples }, (_, sample) => {
      const parts = [idOf(data, sample), data.classes ? data.classes.names[data.classes.of[sample]] : "", ...columns.map((column) => column.text![sample])];
      return parts.join("\u0001").toLowerCase();
    });
  }
}
