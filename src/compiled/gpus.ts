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

/** GPU properties that a launch may depend on, named as in `torch.cuda.get_device_properties`. */

export interface DeviceProperties {
  /** Streaming multiprocessors (AMD: compute units). */
  readonly multiProcessorCount: number;
  /** Shared memory that one program may use, in bytes. */
  readonly sharedMemoryPerBlockOptin: number;
  /** Lanes of a warp. */
  readonly warpSize: number;
  /** The compute capability: 9 and 0 for sm_90. */
  readonly major: number;
  readonly minor: number;
}

/** An NVIDIA H200. The evaluator and Triton's interpreter have no GPU and launch as on this one. */
export const H200: DeviceProperties = {
  multiProcessorCount: 132,
  sharedMemoryPerBlockOptin: 232_448,
  warpSize: 32,
  major: 9,
  minor: 0,
};

export const devicePropertyNames = Object.keys(H200) as readonly (keyof DeviceProperties)[];

/** Device names. `docs/devices.md` describes what runs on each. */

export const deviceKinds = ["auto", "cuda", "hip", "interpreter", "eval"] as const;
export type DeviceKind = (typeof deviceKinds)[number];

/** A property instead of an alias, because editors show the members of its type, but only the name of an alias. */
interface Devices {
  readonly name: DeviceKind | `${"cuda" | "hip"}:${string}` | `cpu:${number}` | `ssh:${string}` | `ray:${string}`;
}

/**
 * A kind of device; several GPUs, `cuda:all` or `cuda:0,1`; several workers on Triton's interpreter, `cpu:4`; another
 * machine, `ssh:user@host:port/python`, optionally followed by `#` and a device there, `ssh:host#cuda:all`; a Ray
 * cluster, `ray:auto`.
 */
export type DeviceName = Devices["name"];

// Configs that apply only to some GPUs, and their selection for a GPU.

/** The GPUs of a list of configs. NVIDIA: a compute capability up to that of the next list. AMD: one architecture. */
export type ConfigGpu = { readonly cuda: number } | { readonly hip: string };

/** A config with its GPUs. Without `gpu`, it applies to all GPUs that no other list names. */
interface GpuSpecific {
  readonly gpu?: ConfigGpu;
}

/** True if the list of configs depends on the GPU. */
export const isPerGpu = (configs: readonly GpuSpecific[]): boolean => configs.some(({ gpu }) => gpu !== undefined);

/** The list that applies to a GPU; undefined is the default list. */
function selectConfigs(lists: readonly (ConfigGpu | undefined)[], [backend, arch]: Architecture) {
  const gpuLists = lists.filter((gpu) => gpu !== undefined);
  if (backend === "hip") return gpuLists.find((gpu) => "hip" in gpu && gpu.hip === arch);
  return gpuLists
    .filter((gpu) => "cuda" in gpu && gpu.cuda <= Number(arch))
    .reduce<ConfigGpu | undefined>((newest, gpu) => (capability(gpu) > capability(newest) ? gpu : newest), undefined);
}

const capability = (gpu: ConfigGpu | undefined): number => (gpu && "cuda" in gpu ? gpu.cuda : 0);

/** The indices of the configs that apply to a GPU. Without a GPU, as on Triton's interpreter, all of them. */
export function configsFor(
  configs: readonly GpuSpecific[],
  architecture: Architecture | null | undefined,
): readonly number[] {
  if (!architecture) return [...configs.keys()];
  const selected = selectConfigs(
    configs.map(({ gpu }) => gpu),
    architecture,
  );
  return configs.flatMap(({ gpu }, index) => (formatGpu(gpu) === formatGpu(selected) ? [index] : []));
}

/** The list for exactly this GPU. */
export function configsForExactGpu([backend, arch]: Architecture): ConfigGpu {
  return backend === "cuda" ? { cuda: Number(arch) } : { hip: String(arch) };
}

/** `sm_90`, `gfx942`, or `default` */
export function formatGpu(gpu: ConfigGpu | undefined): string {
  if (!gpu) return "default";
  return "cuda" in gpu ? `sm_${gpu.cuda}` : gpu.hip;
}

/** Lists by GPU, in the form of a spec. */
export interface PerGpu<List> {
  readonly default: List;
  readonly cuda?: Readonly<Record<string, List>>;
  readonly hip?: Readonly<Record<string, List>>;
}

/**
 * The lists in the order of a kernel's configs: the default one, NVIDIA's by rising capability, AMD's in declared
 * order.
 */
export function listsOf<List>(lists: PerGpu<List>): readonly { readonly gpu?: ConfigGpu; readonly list: List }[] {
  const cuda = Object.entries(lists.cuda ?? {}).sort(([a], [b]) => Number(a) - Number(b));
  return [
    { list: lists.default },
    ...cuda.map(([key, list]) => ({ gpu: { cuda: Number(key) }, list })),
    ...Object.entries(lists.hip ?? {}).map(([hip, list]) => ({ gpu: { hip }, list })),
  ];
}
