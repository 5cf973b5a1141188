/** Builds kernels on Node: loads the source index and compiles. */
import { compile } from "./compile-kernel.js";
import type { CompiledKernel, Config } from "../compiled/compiled-kernel.js";
import type { SourceIndex } from "../ir/source-index.js";

let index: Promise<SourceIndex> | undefined;

/**
 * Compiles a kernel: emitted Python, signature, evaluator.
 *
 * @throws TileScriptError with every error, at the author's file and line.
 */
export function build(kernel: unknown): Promise<CompiledKernel> {
  return buildWith(kernel);
}

/** Compiles a kernel with `configs` in place of the author's. */
export async function buildWith(kernel: unknown, configs?: readonly Config[]): Promise<CompiledKernel> {
  index ??= import("../source/call-site-index.js").then(({ createSourceIndex }) => createSourceIndex());
  return compile(kernel, { source: await index, configs });
}
