/** Applies the fixes of diagnostics to a source text. */
import type { Diagnostic, Edit, Location } from "../../diagnostics/diagnostic.js";

/** Groups the edits by file, without the duplicates that several kernels of a file may report. */
export function editsByFile(diagnostics: readonly Diagnostic[]): ReadonlyMap<string, readonly Edit[]> {
  const files = new Map<string, Map<string, Edit>>();
  for (const { edit } of diagnostics) {
    if (!edit) continue;
    const { file } = edit.at;
    const edits = files.get(file) ?? new Map<string, Edit>();
    files.set(file, edits.set(JSON.stringify(edit), edit));
  }
  return new Map([...files].map(([file, edits]) => [file, [...edits.values()]]));
}

const compare = (a: Location, b: Location): number => a.line - b.line || a.column - b.column;

/** The edits without those that overlap an earlier one. Among edits with one start, the longest remains. */
export function withoutOverlaps(edits: readonly Edit[]): readonly Edit[] {
  let previous: Edit | undefined;
  return edits
    .toSorted((a, b) => compare(a.at, b.at) || compare(b.end, a.end))
    .filter((edit) => {
      if (previous && compare(edit.at, previous.end) < 0) return false;
      previous = edit;
      return true;
    });
}

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
  const changes = withoutOverlaps(edits).map(({ at: from, end, text: newText }) => {
    const start = offsetOf(from);
    return { span: { start, length: offsetOf(end) - start }, newText };
  });
  // ts-morph has removed it from the text.
  const byteOrderMark = text.startsWith("\uFEFF") ? "\uFEFF" : "";
  return { text: byteOrderMark + file.applyTextChanges(changes).getFullText(), applied: changes.length };
}
