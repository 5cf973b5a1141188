/** TileScript in a page, which bundlers take for `tilescript`: kernels are built without their source. */
import { compile } from "./compile.js";
import type { CompiledKernel } from "./compiled.js";

export * from "./language.js";

/** The compiled kernel; names in the Python come from ops, since a page does not have the author's file. */
export async function build(kernel: unknown): Promise<CompiledKernel> {
  return compile(kernel);
}

/** Does nothing: a kernel file is no program in a page. */
export function main(): void {}
