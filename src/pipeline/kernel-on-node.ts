/** `kernel` on Node: built with the author's source, and run on the devices of this machine. */
import { build } from "./build.js";
import type { KernelFunction } from "../params/kernel.js";
import { kernelOn } from "./runnable.js";

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
