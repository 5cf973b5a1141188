/** Edits of the author's files: the fixes of diagnostics, and tuned configs. */
import type { Diagnostic, Edit, Location } from "../../diagnostics/diagnostic.js";
import { readFile } from "node:fs/promises";
import type { CompiledKernel, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { UsageError } from "../system/errors.js";

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

// Writes tuned configs into the author's file.

/**
 * Writes the file with the new configs, and returns its path. Formats it with the project's prettier if it was
 * formatted before.
 *
 * @throws UsageError if the file has changed since it was read.
 */
export async function rewriteConfigs({ tuning }: CompiledKernel, configs: readonly FoundConfigs[]): Promise<string> {
  const { file, before: original, text } = await tuning!.rewrite(configs);
  if ((await readFile(file, "utf8")) !== original)
    throw new UsageError(`${file} changed while its kernel was tuned; tune again, the measurements are kept`);
  // Imported lazily, because prettier loads slowly and no other command needs it.
  const { check, format, resolveConfig } = await import("prettier");
  const style = { ...(await resolveConfig(file)), filepath: file };
  const isFormatted = await check(original, style).catch(() => false);
  await writeOutput(file, isFormatted ? await format(text, style) : text);
  return file;
}
