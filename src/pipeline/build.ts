/** Builds kernels on Node: loads the source index and compiles. */
import { compile } from "./compile-kernel.js";
import type { CompiledKernel, Config } from "../compiled/compiled-kernel.js";
import type { SourceIndex } from "../ir/source-index.js";
import type { KernelFunction } from "../params/kernel.js";
import { kernelOn } from "./runnable.js";

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

// `kernel` on Node: built with the author's source, and run on the devices of this machine.

/**
 * Defines a Triton kernel. `name` is its Python name. `spec` declares its parameters and its launch. `body` is traced
 * once during the build: it receives handles for tensors, sizes and constexprs instead of real values.
 *
 * @throws TileScriptError if the name cannot be a Python name, or a required part of the spec is missing.
 */
export const kernel: KernelFunction = kernelOn({
  build,
  args: async (...call) => (await import("../runtime/devices/call.js")).callOnDevice(...call),
});
