/** A Source Map v3 of the emitted module, from lines of Python to the author's lines. */
import { addMapping, GenMapping, setSourceContent, toEncodedMap } from "@jridgewell/gen-mapping";
import type { LineOrigin } from "../syntax/layout.js";

/** `read` returns the content of a source file, if it is available. */
export function sourceMap(
  file: string,
  lines: readonly LineOrigin[],
  read?: (path: string) => string | undefined,
): string {
  const map = new GenMapping({ file });
  const sources = new Set<string>();
  for (const { line, column, origin } of lines) {
    addMapping(map, {
      generated: { line, column },
      source: origin.file,
      original: { line: origin.line, column: origin.column - 1 },
    });
    sources.add(origin.file);
  }
  for (const source of sources) {
    const content = read?.(source);
    if (content !== undefined) setSourceContent(map, source, content);
  }
  return JSON.stringify(toEncodedMap(map));
}
