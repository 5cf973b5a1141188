/** Applies the fixes of diagnostics to a source text. */
import type { Edit, Location } from "../../diagnostics/diagnostic.js";

/**
 * Applies the edits to the text of their file, and returns it with the number of applied edits. Of overlapping edits,
 * only the first is applied.
 */
export async function applyEdits(
  text: string,
  edits: readonly Edit[],
): Promise<{ readonly text: string; readonly applied: number }> {
  // Imported lazily, because it loads slowly and other commands do not need it.
  const { Project } = await import("ts-morph");
  const file = new Project({ useInMemoryFileSystem: true }).createSourceFile("kernel.ts", text);
  const offsetOf = ({ line, column }: Location): number =>
    file.compilerNode.getPositionOfLineAndCharacter(line - 1, column - 1);
  const changes = edits
    .map(({ at, end, text: newText }) => {
      const start = offsetOf(at);
      return { span: { start, length: offsetOf(end) - start }, newText };
    })
    .sort((a, b) => a.span.start - b.span.start || b.span.length - a.span.length);
  let end = 0;
  const applied = changes.filter(({ span: { start, length } }) => {
    if (start < end) return false;
    end = start + length;
    return true;
  });
  // ts-morph has removed it from the text.
  const byteOrderMark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  return { text: byteOrderMark + file.applyTextChanges(applied).getFullText(), applied: applied.length };
}
