/** The author's configs as a search takes them, and with what it found. */
import type { CompiledKernel, Config, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { configsFor, configsForExactGpu, gpuText } from "../../compiled/configs-by-gpu.js";
import type { Architecture } from "../../compiled/kernel-targets.js";
import { identity } from "./trial-cache.js";

/** The author's configs, each once and for any GPU: where they are given by GPU, several lists may have the same one. */
export function ownConfigs({ configs }: CompiledKernel): readonly Config[] {
  const anywhere = configs.map((config) => {
    const { gpu: _, ...others } = config;
    return others;
  });
  return distinct(anywhere);
}

function distinct(configs: readonly Config[]): readonly Config[] {
  const texts = configs.map(identity);
  return configs.filter((_, i) => texts.indexOf(texts[i]!) === i);
}

/** Whether the autotuner of the author's kernel chooses from a config on a GPU. */
export function chosenFrom(
  { configs }: CompiledKernel,
  gpu: Architecture | null | undefined,
): (config: Config) => boolean {
  const texts = new Set(configsFor(configs, gpu).map((place) => identity(configs[place]!)));
  return (config) => texts.has(identity(config));
}

/** The kernel's configs with what was found in their place, or where they are given by GPU, in that of these GPUs. */
export function mergeConfigs({ configs, tuning }: CompiledKernel, found: readonly FoundConfigs[]): readonly Config[] {
  if (!tuning?.byGpu) return distinct(found.flatMap((each) => each.configs));
  const lists = new Map<string, Config[]>();
  const add = (config: Config) => {
    const name = gpuText(config.gpu);
    lists.set(name, [...(lists.get(name) ?? []), config]);
  };
  configs.forEach(add);
  const renewed = found.flatMap(({ configs: fastest, architecture }) => {
    const gpu = architecture ? { gpu: configsForExactGpu(architecture) } : {};
    return fastest.map((config): Config => ({ ...config, ...gpu }));
  });
  for (const { gpu } of renewed) lists.delete(gpuText(gpu));
  renewed.forEach(add);
  return [...lists.values()].flatMap(distinct);
}
