/** Maps lines of emitted Python to the author's TypeScript. */
import { eachMapping, LEAST_UPPER_BOUND, originalPositionFor, TraceMap } from "@jridgewell/trace-mapping";
import { isAbsolute, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import type { Location } from "../../diagnostics/diagnostic.js";

/** The location in the author's source for a line of emitted Python. */
export function authorLocation(map: string, line: number): Location | undefined {
  const position = originalPositionFor(new TraceMap(map), { line, column: 0, bias: LEAST_UPPER_BOUND });
  if (position.source === null || position.line === null) return undefined;
  return { file: sourcePath(position.source), line: position.line, column: (position.column ?? 0) + 1 };
}

/** A statement of emitted Python with its location in the author's source. */
export interface EmittedStatement {
  readonly text: string;
  readonly at: Location;
}

/** The statements of an emitted module that come from the author's source, in their order. */
export function emittedStatements(python: string, map: string): readonly EmittedStatement[] {
  const lines = python.split("\n");
  const starts: { readonly index: number; readonly column: number; readonly at: Location }[] = [];
  eachMapping(new TraceMap(map), ({ generatedLine, generatedColumn, source, originalLine, originalColumn }) => {
    if (source === null || originalLine === null) return;
    const location = { file: sourcePath(source), line: originalLine, column: originalColumn + 1 };
    starts.push({ index: generatedLine - 1, column: generatedColumn, at: location });
  });
  return starts.map(({ index, column, at: location }, i) => {
    const [first = "", ...others] = lines.slice(index, starts[i + 1]?.index);
    const end = others.findIndex((line) => !/^\s|^[)\]}]/.test(line.slice(column)) || /\S/.test(line.slice(0, column)));
    const text = [first, ...others.slice(0, end < 0 ? others.length : end)].map((line) => line.slice(column));
    return { text: text.join("\n"), at: location };
  });
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
