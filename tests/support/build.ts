/** Kernels built for tests. */
import type { CompiledKernel } from "../../src/compiled/compiled-kernel.js";
import { build } from "../../src/pipeline/build.js";

/** Builds the kernels in a record of a module's exports. */
export async function buildAll<K extends Readonly<Record<string, unknown>>>(
  kernels: K,
): Promise<{ readonly [N in keyof K]: CompiledKernel }> {
  const built: [string, CompiledKernel][] = [];
  for (const [name, kernel] of Object.entries(kernels)) built.push([name, await build(kernel)]);
  return Object.fromEntries(built) as { readonly [N in keyof K]: CompiledKernel };
}
