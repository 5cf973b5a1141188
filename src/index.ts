/** TileScript: Triton kernels in TypeScript. */
import { buildWith } from "./build.js";
import { definitionOf, KernelDefinition } from "./dsl/kernel.js";
import { OperatorDefinition } from "./dsl/operator.js";
import type { Kernel } from "./ir/kernel.js";
import type { Operator } from "./ir/params-operator.js";
import { addBuilder } from "./runtime/builders.js";
import type { Runnable } from "./runtime/commands/command.js";
import { type FileMeta, main as runMain } from "./runtime/main.js";

export { build } from "./build.js";
export { kernel } from "./kernel.js";
export * from "./language.js";

/**
 * Makes a kernel file a program: `tsx gemm.ts --run`, `--check`, `--emit`, `--compile`, `--help`. Does nothing when the
 * file is imported.
 *
 * @param meta the file's `import.meta`, or `module` in a CommonJS file
 */
export function main(meta: FileMeta, ...kernels: readonly (Kernel<string, any> | Operator<string, any>)[]): void {
  runMain(meta, ...kernels.map(runnable));
}

function runnable(kernel: unknown): Runnable {
  const { name } = kernel instanceof OperatorDefinition ? kernel : definitionOf(kernel);
  return { name, compile: (configs) => buildWith(kernel, configs) };
}

addBuilder((value) =>
  value instanceof KernelDefinition || value instanceof OperatorDefinition ? runnable(value) : undefined,
);
