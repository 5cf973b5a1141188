/** The GPUs that a kernel supports, if it does not support all. */
import type { Location } from "../diagnostics/diagnostic.js";

export interface KernelTargets {
  /** The minimum compute capability: 90 is sm_90. If omitted, the kernel supports no NVIDIA GPU. */
  readonly cuda?: number;
  /** AMD architectures, such as `["gfx942", "gfx950"]`. If omitted, the kernel supports no AMD GPU. */
  readonly hip?: readonly string[];
  /** The reason for the restriction: the features that other GPUs lack. */
  readonly reason: string;
}

/** Targets with the location of their declaration. */
export interface DeclaredTargets extends KernelTargets {
  readonly at: Location | undefined;
}

/** Triton's name of a target: a backend with its architecture. */
export type Architecture = readonly [backend: "cuda" | "hip", arch: number | string, ...rest: unknown[]];

/** True if a kernel with these targets supports a GPU. */
export function supportsGpu({ cuda, hip }: KernelTargets, [backend, arch]: Architecture): boolean {
  return backend === "cuda" ? cuda !== undefined && Number(arch) >= cuda : hip?.includes(String(arch)) === true;
}

/** `sm_90 and later, gfx950: loads through the copy engine` */
export function formatTargets({ cuda, hip = [], reason }: KernelTargets): string {
  return `${[...(cuda === undefined ? [] : [`sm_${cuda} and later`]), ...hip].join(", ")}: ${reason}`;
}
