/** Applies the fixes of diagnostics to a source text. */
import type { Edit, Location } from "../../diagnostics/diagnostic.js";

/**
 * Applies the edits to the text of their file, and returns it with the number of applied edits. Of overlapping edits,
 * only the first is applied.
 */
export function applyEdits(text: string, edits: readonly Edit[]): { readonly text: string; readonly applied: number } {
  const starts = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)];
  const offsetOf = ({ line, column }: Location): number => (starts[line - 1] ?? text.length) + column - 1;
  const ranges = edits.map((edit) => ({ from: offsetOf(edit.at), to: offsetOf(edit.end), text: edit.text }));
  ranges.sort((a, b) => a.from - b.from || b.to - a.to);
  let [result, end, applied] = ["", 0, 0];
  for (const range of ranges) {
    if (range.from < end) continue;
    result += text.slice(end, range.from) + range.text;
    end = range.to;
    applied++;
  }
  return { text: result + text.slice(end), applied };
}
