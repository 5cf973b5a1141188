/** The entry for bundlers: builds kernels without the author's source, and evaluates them. */
import { compile } from "./pipeline/compile-kernel.js";
import type { CompiledKernel } from "./compiled/compiled-kernel.js";
import type { KernelFunction } from "./params/kernel.js";
import { kernelOn } from "./pipeline/runnable.js";

export * from "./language.js";

/** Compiles a kernel. Names in the Python come from ops, since a page does not have the author's file. */
export async function build(kernel: unknown): Promise<CompiledKernel> {
  return compile(kernel);
}

const unchecked = ["a page has no device to run on, so the kernel was evaluated in-process"];

export const kernel: KernelFunction = kernelOn({ build, call: async () => ({ device: "eval", unchecked }) });

/** Does nothing, because a kernel file is not a program in a page. */
export function main(..._ignored: readonly unknown[]): void {}
