/** TileScript: Triton kernels in TypeScript. */
import { captureLocation } from "./diagnostics/callsite.js";
import { notAKernel } from "./diagnostics/catalog/definition-codes.js";
import { fail } from "./diagnostics/diagnostic.js";
import { buildWith } from "./pipeline/build.js";
import { definitionOf, KernelDefinition } from "./dsl/definition.js";
import { OperatorDefinition } from "./dsl/operator.js";
import type { Kernel } from "./params/kernel.js";
import type { Operator } from "./params/operator-types.js";
import { type Runnable, addBuilder } from "./runtime/invocation/command.js";
import { type FileMeta, main as runMain } from "./runtime/cli/main.js";

export { build, kernel } from "./pipeline/build.js";
export * from "./language.js";

/**
 * Makes a kernel file a program: `tsx gemm.ts --run`, `--check`, `--emit`, `--compile`, `--help`. Does nothing when the
 * file is imported.
 *
 * @param meta the file's `import.meta`, or `module` in a CommonJS file
 */
export function main(meta: FileMeta, ...kernels: readonly (Kernel<string, any> | Operator<string, any>)[]): void {
  if (isDefinition(meta)) fail(notAKernel.file(meta.name), captureLocation());
  runMain(meta, ...kernels.map(runnable));
}

const isDefinition = (value: unknown): value is KernelDefinition | OperatorDefinition =>
  value instanceof KernelDefinition || value instanceof OperatorDefinition;

function runnable(kernel: unknown): Runnable {
  const { name } = kernel instanceof OperatorDefinition ? kernel : definitionOf(kernel);
  return { name, compile: (configs) => buildWith(kernel, configs) };
}

addBuilder((value) => (isDefinition(value) ? runnable(value) : undefined));
