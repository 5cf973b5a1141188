/** From a line of emitted Python back to the author's TypeScript, and the lines around it. */
import { LEAST_UPPER_BOUND, originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { readFileSync } from "node:fs";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Location } from "../diagnostics.js";

/** Where the author wrote what became this line of Python. */
export function authorLocation(map: string, line: number): Location | undefined {
  const found = originalPositionFor(new TraceMap(map), { line, column: 0, bias: LEAST_UPPER_BOUND });
  if (found.source === null || found.line === null) return undefined;
  return { file: sourcePath(found.source), line: found.line, column: (found.column ?? 0) + 1 };
}

/** The map for a module that is written to `folder`: its sources relative to that folder. */
export function relocateMap(map: string, folder: string): string {
  const parsed = JSON.parse(map) as { sources: (string | null)[] };
  const sources = parsed.sources.map((source) => source && relative(resolve(folder), sourcePath(source)));
  return JSON.stringify({ ...parsed, sources });
}

function sourcePath(source: string): string {
  if (source.startsWith("file:")) return fileURLToPath(source);
  return isAbsolute(source) ? source : resolve(source);
}

/** The line of a location with its neighbours and a caret, or an empty string if the file can't be read. */
export function codeFrame(at: Location, around = 1): string {
  let lines: string[];
  try {
    lines = readFileSync(at.file, "utf8").split("\n");
  } catch {
    return "";
  }
  const first = Math.max(1, at.line - around);
  const last = Math.min(lines.length, at.line + around);
  const width = String(last).length;
  const shown: string[] = [];
  for (let number = first; number <= last; number++) {
    const mark = number === at.line ? ">" : " ";
    shown.push(`${mark} ${String(number).padStart(width)} | ${lines[number - 1] ?? ""}`.trimEnd());
    if (number === at.line) shown.push(`  ${" ".repeat(width)} | ${" ".repeat(at.column - 1)}^`);
  }
  return shown.join("\n");
}
