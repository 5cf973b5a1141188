/** Writes tuned configs into the author's file. */
import { readFile } from "node:fs/promises";
import type { CompiledKernel, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { UsageError } from "../system/errors.js";

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
