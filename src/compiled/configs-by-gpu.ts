/** Configs that are for some GPUs only, and which of them a GPU chooses from. */
import type { Architecture } from "./kernel-targets.js";

/** The GPUs of a list of configs: NVIDIA's from a compute capability up to the next list's, or one of AMD's architectures. */
export type ConfigGpu = { readonly cuda: number } | { readonly hip: string };

/** A config with the GPUs that it is for; without them, it is for those that no other list names. */
interface ForGpu {
  readonly gpu?: ConfigGpu;
}

/** Whether the GPU decides which configs there are to choose from. */
export const isPerGpu = (configs: readonly ForGpu[]): boolean => configs.some(({ gpu }) => gpu !== undefined);

/** The list that a GPU chooses from, of those that there are: undefined is the default one. */
export function selectConfigs(lists: readonly (ConfigGpu | undefined)[], [backend, arch]: Architecture) {
  const own = lists.filter((gpu) => gpu !== undefined);
  if (backend === "hip") return own.find((gpu) => "hip" in gpu && gpu.hip === arch);
  return own
    .filter((gpu) => "cuda" in gpu && gpu.cuda <= Number(arch))
    .reduce<ConfigGpu | undefined>((newest, gpu) => (capability(gpu) > capability(newest) ? gpu : newest), undefined);
}

const capability = (gpu: ConfigGpu | undefined): number => (gpu && "cuda" in gpu ? gpu.cuda : 0);

/** The places of the configs that a GPU chooses from; without a GPU, as on Triton's interpreter, all are tried. */
export function configsFor(
  configs: readonly ForGpu[],
  architecture: Architecture | null | undefined,
): readonly number[] {
  const places = [...configs.keys()];
  if (!architecture) return places;
  const chosen = selectConfigs(
    configs.map(({ gpu }) => gpu),
    architecture,
  );
  return places.filter((place) => gpuText(configs[place]!.gpu) === gpuText(chosen));
}

/** The list of exactly this GPU. */
export function configsForExactGpu([backend, arch]: Architecture): ConfigGpu {
  return backend === "cuda" ? { cuda: Number(arch) } : { hip: String(arch) };
}

/** `sm_90`, `gfx942`, or `default` */
export function gpuText(gpu: ConfigGpu | undefined): string {
  if (!gpu) return "default";
  return "cuda" in gpu ? `sm_${gpu.cuda}` : gpu.hip;
}

/** Lists by GPU, as a spec has them. */
export interface PerGpu<List> {
  readonly default: List;
  readonly cuda?: Readonly<Record<string, List>>;
  readonly hip?: Readonly<Record<string, List>>;
}

/** The lists in the order of a kernel's configs: the default one, NVIDIA's by rising capability, AMD's as written. */
export function listsOf<List>(given: PerGpu<List>): readonly { readonly gpu?: ConfigGpu; readonly list: List }[] {
  const cuda = Object.entries(given.cuda ?? {}).sort(([a], [b]) => Number(a) - Number(b));
  return [
    { list: given.default },
    ...cuda.map(([key, list]) => ({ gpu: { cuda: Number(key) }, list })),
    ...Object.entries(given.hip ?? {}).map(([hip, list]) => ({ gpu: { hip }, list })),
  ];
}
