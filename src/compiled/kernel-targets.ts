/** The GPUs that a kernel is for, where it is not for all of them. */
import type { Location } from "../diagnostics/diagnostic.js";

export interface KernelTargets {
  /** The oldest of NVIDIA's, by compute capability: 90 is sm_90. Without it, the kernel is for none of NVIDIA's. */
  readonly cuda?: number;
  /** AMD's, by architecture: `["gfx942", "gfx950"]`. Without it, the kernel is for none of AMD's. */
  readonly hip?: readonly string[];
  /** Why it is for no others: what they lack. */
  readonly reason: string;
}

/** With the place where the author says so. */
export interface DeclaredTargets extends KernelTargets {
  readonly at: Location | undefined;
}

/** Triton's name of a target: a backend with its architecture. */
export type Architecture = readonly [backend: "cuda" | "hip", arch: number | string, ...rest: unknown[]];

/** Whether a kernel with these targets is for a GPU. */
export function supportsGpu({ cuda, hip }: KernelTargets, [backend, arch]: Architecture): boolean {
  return backend === "cuda" ? cuda !== undefined && Number(arch) >= cuda : hip?.includes(String(arch)) === true;
}

/** `sm_90 and later, gfx950: loads through the copy engine` */
export function targetsText({ cuda, hip = [], reason }: KernelTargets): string {
  return `${[...(cuda === undefined ? [] : [`sm_${cuda} and later`]), ...hip].join(", ")}: ${reason}`;
}
