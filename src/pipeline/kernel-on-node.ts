/** `kernel` on Node: built from the author's source, and run on the devices of this machine. */
import { build } from "./build.js";
import type { KernelFunction } from "../params/kernel.js";
import { kernelOn } from "./runnable.js";

/**
 * Defines a Triton kernel. `name` is its Python name, `spec` says what it takes and how it is launched, `body` is run
 * once while the kernel is built, with tensors, sizes and constexprs that stand for the real ones.
 *
 * @throws TileScriptError if the name cannot be a Python name, or a required part of the spec is missing.
 */
export const kernel: KernelFunction = kernelOn({
  build,
  call: async (...call) => (await import("../runtime/devices/call.js")).callOnDevice(...call),
});
