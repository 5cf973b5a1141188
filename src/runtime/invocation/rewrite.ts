/** Puts other configs into the author's file. */
import { readFile } from "node:fs/promises";
import type { CompiledKernel, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { writeOutput } from "../system/files.js";
import { UsageError } from "../system/errors.js";

/**
 * Writes the file with the configs that were found, and returns its path. Formats it with the project's prettier if it was
 * so before.
 *
 * @throws UsageError if the file has changed since it was read.
 */
export async function rewriteConfigs({ tuning }: CompiledKernel, found: readonly FoundConfigs[]): Promise<string> {
  const { file, before, text } = tuning!.rewrite(found);
  if ((await readFile(file, "utf8")) !== before)
    throw new UsageError(`${file} changed while its kernel was tuned; tune again, the measurements are kept`);
  // Imported here, because no other command needs it, and it takes long to load.
  const { check, format, resolveConfig } = await import("prettier");
  const style = { ...(await resolveConfig(file)), filepath: file };
  const isFormatted = await check(before, style).catch(() => false);
  await writeOutput(file, isFormatted ? await format(text, style) : text);
  return file;
}
