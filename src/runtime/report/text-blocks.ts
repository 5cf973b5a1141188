/** Blocks of text: excerpts of the author's source below a message, and tables. */
import { readFileSync } from "node:fs";
import pc from "picocolors";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { formatDiagnostic, type Diagnostic, type Location } from "../../diagnostics/diagnostic.js";
import type { Streams } from "../system/streams.js";
import { stripVTControlCharacters } from "node:util";

/** Prints a message with a code frame of its location. */
export function printDiagnostic(diagnostic: Diagnostic, { err, errColor = false }: Streams): void {
  err(`${formatWithFrame(diagnostic, errColor)}\n`);
}

/** A message with a code frame of its location. */
export function formatWithFrame(diagnostic: Diagnostic, isColored = false): string {
  const frame = diagnostic.at ? codeFrame(diagnostic.at) : "";
  const text = frame ? `${formatDiagnostic(diagnostic)}\n${frame}` : formatDiagnostic(diagnostic);
  return isColored ? colorDiagnostic(diagnostic, text) : text;
}

/** Colors the severity with the code, the remedy, and the caret. */
function colorDiagnostic({ severity, code, remedy = "" }: Diagnostic, text: string): string {
  const colors = pc.createColors(true);
  const color = severity === "error" ? colors.red : colors.yellow;
  const withCaret = text.replace(/^( +\| \s*)\^$/m, (_, indent: string) => `${indent}${color("^")}`);
  const withHead = withCaret.replace(`${severity} ${code}:`, () => colors.bold(color(`${severity} ${code}:`)));
  return remedy === "" ? withHead : withHead.replace(`; ${remedy}`, () => `; ${colors.green(remedy)}`);
}

/** The line of a location with its neighbors and a caret. Empty if the file is unreadable or has no such line. */
export function codeFrame(location: Location, context = 1): string {
  let lines: string[];
  try {
    lines = readFileSync(location.file, "utf8").split(/\r?\n/);
  } catch {
    return "";
  }
  const line = lines[location.line - 1];
  if (line === undefined) return "";
  const first = Math.max(1, location.line - context);
  const last = Math.min(lines.length, location.line + context);
  const width = String(last).length;
  const frame: string[] = [];
  for (let number = first; number <= last; number++) {
    const marker = number === location.line ? ">" : " ";
    frame.push(`${marker} ${String(number).padStart(width)} | ${lines[number - 1]}`.trimEnd());
    // Tabs are kept, so that the caret aligns with its column for any tab width.
    if (number === location.line)
      frame.push(`  ${" ".repeat(width)} | ${line.slice(0, location.column - 1).replace(/[^\t]/g, " ")}^`);
  }
  return frame.join("\n");
}

/** A hint to the explanation of a code. Printed once per run. */
export function explainHint(code: DiagnosticCode): string {
  return `\`npx tilescript explain ${code}\` shows an example and its remedy`;
}

// Formats text in columns.

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
