/** The entry point for bundlers: builds kernels without the author's source, and evaluates them. */
import { compile } from "./pipeline/compile-kernel.js";
import type { CompiledKernel } from "./compiled/compiled-kernel.js";
import type { KernelFunction } from "./params/kernel.js";
import { kernelOn } from "./pipeline/runnable.js";

export * from "./language.js";

/** Compiles a kernel. Without the author's source, variable names in the emitted Python come from ops. */
export async function build(kernel: unknown): Promise<CompiledKernel> {
  return compile(kernel);
}

const unchecked = ["a page has no device to run on, so the kernel was evaluated in-process"];

export const kernel: KernelFunction = kernelOn({ build, args: async () => ({ device: "eval", unchecked }) });

/** Does nothing, because a kernel file in a page is not a program. */
export function main(..._ignored: readonly unknown[]): void {}
