/** Maps lines of emitted Python to the author's TypeScript. */
import { LEAST_UPPER_BOUND, originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Location } from "../../diagnostics/diagnostic.js";

/** The location in the author's source for a line of emitted Python. */
export function authorLocation(map: string, line: number): Location | undefined {
  const position = originalPositionFor(new TraceMap(map), { line, column: 0, bias: LEAST_UPPER_BOUND });
  if (position.source === null || position.line === null) return undefined;
  return { file: sourcePath(position.source), line: position.line, column: (position.column ?? 0) + 1 };
}

/** The source map for a module in `folder`, with source paths relative to that folder. */
export function relocateMap(map: string, folder: string): string {
  const parsed = JSON.parse(map) as { sources: (string | null)[] };
  const sources = parsed.sources.map((source) => source && relative(resolve(folder), sourcePath(source)));
  return JSON.stringify({ ...parsed, sources });
}

function sourcePath(source: string): string {
  if (source.startsWith("file:")) return fileURLToPath(source);
  return isAbsolute(source) ? source : resolve(source);
}
