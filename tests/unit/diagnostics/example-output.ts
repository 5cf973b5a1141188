/** What an example of the catalog says: it is imported, built and evaluated as an author's file is. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { type Edit, TileScriptError } from "../../../src/diagnostics/diagnostic.js";
import { kernelFileOf, type KernelFileParts, type Run } from "../../../src/diagnostics/explanations/explanation.js";
import { outputDiagnostics } from "../../../src/runtime/report/computes-text.js";
import { kernelDiagnostics } from "../../../src/runtime/report/kernel-diagnostics.js";
import { build } from "../../../src/pipeline/build.js";

export interface Shown {
  readonly code: string;
  readonly message: string;
  readonly edit?: Edit | undefined;
}

/** Everything that is said of an example, in order. `file` is where it is written. */
export async function shownBy(
  file: string,
  parts: KernelFileParts | string,
  { otherFiles = {}, run }: { readonly otherFiles?: Readonly<Record<string, string>>; readonly run?: Run | undefined },
): Promise<readonly Shown[]> {
  mkdirSync(dirname(file), { recursive: true });
  for (const [name, text] of Object.entries(otherFiles)) writeFileSync(join(dirname(file), name), text);
  writeFileSync(file, kernelFileOf(parts));
  try {
    const { example } = (await import(/* @vite-ignore */ file)) as { example?: unknown };
    if (example === undefined || !isKernel(example)) return [];
    const compiled = await build(example);
    if (run?.op) compiled.emit({ op: run.op });
    const said = run?.proof
      ? [...kernelDiagnostics(compiled, compiled.proof(), undefined), ...outputDiagnostics(compiled.computes())]
      : compiled.warnings;
    return [...said, ...(run?.sizes ? findingsOf(compiled, run) : [])];
  } catch (error) {
    if (error instanceof TileScriptError) return error.diagnostics;
    throw error;
  }
}

const isKernel = (value: unknown): boolean => typeof value === "function" || typeof value === "object";

function findingsOf(compiled: CompiledKernel, { sizes = {}, constexprs, order, nonFinite }: Run) {
  const at = { sizes, dtypes: {}, config: 0, seed: 1, ...(constexprs && { constexprs }) };
  return compiled.evaluate(at, { order, nonFinite }).findings;
}
