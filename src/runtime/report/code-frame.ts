/** Excerpts of the author's source to show below a message. */
import { readFileSync } from "node:fs";
import type { DiagnosticCode } from "../../diagnostics/catalog/index.js";
import { formatDiagnostic, type Diagnostic, type Location } from "../../diagnostics/diagnostic.js";

/** A message with the lines that it is about. */
export function diagnosticText(diagnostic: Diagnostic): string {
  const frame = diagnostic.at ? codeFrame(diagnostic.at) : "";
  return frame ? `${formatDiagnostic(diagnostic)}\n${frame}` : formatDiagnostic(diagnostic);
}

/**
 * The line of a location with its neighbors and a caret, or an empty string where the file has no such line or can't
 * be read.
 */
export function codeFrame(at: Location, around = 1): string {
  let lines: string[];
  try {
    lines = readFileSync(at.file, "utf8").split(/\r?\n/);
  } catch {
    return "";
  }
  if (lines[at.line - 1] === undefined) return "";
  const first = Math.max(1, at.line - around);
  const last = Math.min(lines.length, at.line + around);
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number++) {
    const mark = number === at.line ? ">" : " ";
    shown.push(`${mark} ${String(number).padStart(width)} | ${lines[number - 1]}`.trimEnd());
    // Tabs stay tabs, so that the caret is under its column however wide they are shown.
    if (number === at.line)
      shown.push(`  ${" ".repeat(width)} | ${lines[number - 1]!.slice(0, at.column - 1).replace(/[^\t]/g, " ")}^`);
  }
  return shown.join("\n");
}

/** Where to read more about a code. Said once in a run. */
export function explainHint(code: DiagnosticCode): string {
  return `\`npx tilescript explain ${code}\` shows an example and its remedy`;
}
