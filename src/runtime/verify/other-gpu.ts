/** Kernels that their authors declare for other GPUs than a device's. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { supportsGpu, targetsText } from "../../compiled/kernel-targets.js";
import type { HelloResult } from "../worker/protocol.js";
import type { Device } from "../devices/devices.js";

/** The GPU behind a device; none behind the evaluator and Triton's interpreter. */
export function gpuOf(device: Device): HelloResult["target"] {
  return device.kind === "eval" ? null : device.hello.target;
}

/** Why nothing of the kernel is run there; undefined on a GPU that it is for, and without one. */
export function whyNotRunOn({ targets = [] }: Pick<CompiledKernel, "targets">, device: Device): string | undefined {
  const here = gpuOf(device);
  const other = here && targets.find((declared) => !supportsGpu(declared, here));
  return here && other ? `not run on ${here[0]}:${here[1]}, as the kernel is for ${targetsText(other)}` : undefined;
}
