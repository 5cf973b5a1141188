/** Formats text in columns. */
import { stripVTControlCharacters } from "node:util";

/** The lines of a table. Each column is as wide as its widest cell; color codes have no width. */
export function formatTable(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const width = (cell: string | undefined) => stripVTControlCharacters(cell ?? "").length;
  // The last cell of a short row may overflow its column.
  const widths = head.map((cell, column) =>
    Math.max(width(cell), ...rows.map((row) => (column < row.length - 1 ? width(row[column]) : 0))),
  );
  return [head, ...rows].map((row) =>
    `  ${row.map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell)))).join("  ")}`.trimEnd(),
  );
}
