/** Text in columns. */
import { stripVTControlCharacters } from "node:util";

/** Lines of a table, each column as wide as its widest cell; colours take no room. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const width = (cell: string | undefined) => stripVTControlCharacters(cell ?? "").length;
  // The last cell of a short row may run on.
  const widths = head.map((cell, column) =>
    Math.max(width(cell), ...rows.map((row) => (column < row.length - 1 ? width(row[column]) : 0))),
  );
  return [head, ...rows].map((row) =>
    `  ${row.map((cell, column) => cell + " ".repeat(Math.max(0, widths[column]! - width(cell)))).join("  ")}`.trimEnd(),
  );
}
