// Samples as a table for other programs (RFC 4180).

import { idOf, membersOf, type Level, type MapData } from "./data";

/** The members of some prototypes, one line each. */
export function csv(data: MapData, level: Level, prototypes: Iterable<number>): string {
  const head = ["prototype", "sample", "id", ...(data.classes ? ["class"] : []), ...data.columns.map(({ name }) => name), ...(level.shares ? ["share"] : [])];
  const lines = [head.map(cell).join(",")];
  for (const k of prototypes) {
    membersOf(level, k).forEach((sample, rank) => {
      const values = [
        k,
        sample,
        idOf(data, sample),
        ...(data.classes ? [data.classes.names[data.classes.of[sample]]] : []),
        ...data.columns.map((column) => (column.numbers ? (Number.isNaN(column.numbers[sample]) ? "" : column.numbers[sample]) : column.text![sample])),
        ...(level.shares ? [level.shares[level.offsets[k] + rank]] : []),
      ];
      lines.push(values.map(cell).join(","));
    });
  }
  return lines.join("\r\n") + "\r\n";
}

/** Any table as CSV. */
export function csvTable(rows: (string | number)[][]): string {
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** The same with tabs, as spreadsheets take it from the clipboard. */
export function tabbed(rows: (string | number)[][]): string {
  return rows.map((row) => row.map((value) => String(value).replace(/[\t\r\n]+/g, " ")).join("\t")).join("\n");
}

/** A value as text; an apostrophe keeps spreadsheets from taking what is no number for a formula. */
function cell(value: number | string): string {
  const isFormula = typeof value === "string" && /^[=+\-@\t\r]/.test(value) && !Number.isFinite(Number(value));
  return quoted(isFormula ? `'${value}` : String(value));
}

function quoted(text: string): string {
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
