/** Kernels that are declared for other GPUs than the device's. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { supportsGpu, formatTargets } from "../../compiled/kernel-targets.js";
import type { HelloResult } from "../worker/protocol.js";
import type { Device } from "../devices/device.js";

/** The GPU of a device; null for the evaluator and Triton's interpreter. */
export function gpuOf(device: Device): HelloResult["target"] {
  return device.kind === "eval" ? null : device.hello.target;
}

/** The reason why the kernel does not run on this device; undefined if it does, or if the device has no GPU. */
export function whyNotRunOn({ targets = [] }: Pick<CompiledKernel, "targets">, device: Device): string | undefined {
  const gpu = gpuOf(device);
  const unsupported = gpu && targets.find((declared) => !supportsGpu(declared, gpu));
  return gpu && unsupported
    ? `not run on ${gpu[0]}:${gpu[1]}, as the kernel is for ${formatTargets(unsupported)}`
    : undefined;
}
