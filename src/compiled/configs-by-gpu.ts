/** Configs that apply only to some GPUs, and their selection for a GPU. */
import type { Architecture } from "./kernel-targets.js";

/** The GPUs of a list of configs. NVIDIA: a compute capability up to that of the next list. AMD: one architecture. */
export type ConfigGpu = { readonly cuda: number } | { readonly hip: string };

/** A config with its GPUs. Without `gpu`, it applies to all GPUs that no other list names. */
interface GpuSpecific {
  readonly gpu?: ConfigGpu;
}

/** True if the list of configs depends on the GPU. */
export const isPerGpu = (configs: readonly GpuSpecific[]): boolean => configs.some(({ gpu }) => gpu !== undefined);

/** The list that applies to a GPU; undefined is the default list. */
export function selectConfigs(lists: readonly (ConfigGpu | undefined)[], [backend, arch]: Architecture) {
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
