/** TileScript in a page, which bundlers take for `tilescript`: kernels are built without their source, and evaluated. */
import { compile } from "./pipeline/compile-kernel.js";
import type { CompiledKernel } from "./contract/compiled.js";
import type { KernelFunction } from "./params/kernel.js";
import { kernelOn } from "./pipeline/runnable.js";

export * from "./language.js";

/** The compiled kernel; names in the Python come from ops, since a page does not have the author's file. */
export async function build(kernel: unknown): Promise<CompiledKernel> {
  return compile(kernel);
}

const unchecked = ["a page has no device to run on, so the kernel was evaluated in-process"];

export const kernel: KernelFunction = kernelOn({ build, call: async () => ({ device: "eval", unchecked }) });

/** Does nothing: a kernel file is no program in a page. */
export function main(): void {}
