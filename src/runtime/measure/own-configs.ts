/** The declared configs in the form that a search uses, and their combination with its results. */
import type { CompiledKernel, Config, FoundConfigs } from "../../compiled/compiled-kernel.js";
import { configsFor, configsForExactGpu, formatGpu } from "../../compiled/configs-by-gpu.js";
import type { Architecture } from "../../compiled/kernel-targets.js";
import { configAt } from "../cases/case-text.js";
import { configKey } from "./trial-cache.js";

/** The distinct declared configs without their GPU. If configs depend on the GPU, several lists may share a config. */
export function declaredConfigs({ configs }: CompiledKernel): readonly Config[] {
  const withoutGpu = configs.map((config) => {
    const { gpu: _, ...others } = config;
    return others;
  });
  return uniqueConfigs(withoutGpu);
}

function uniqueConfigs(configs: readonly Config[]): readonly Config[] {
  const unique = new Map<string, Config>();
  for (const config of configs) {
    const key = configKey(config);
    if (!unique.has(key)) unique.set(key, config);
  }
  return [...unique.values()];
}

/** A predicate for the configs that the author's autotuner tries on a GPU. */
export function isTriedOn(
  { configs }: CompiledKernel,
  gpu: Architecture | null | undefined,
): (config: Config) => boolean {
  const keys = new Set(configsFor(configs, gpu).map((index) => configKey(configAt({ configs }, index))));
  return (config) => keys.has(configKey(config));
}

/**
 * Replaces the kernel's configs by the results of a search. If they depend on the GPU, replaces only those of these
 * GPUs.
 */
export function mergeConfigs({ configs, tuning }: CompiledKernel, results: readonly FoundConfigs[]): readonly Config[] {
  if (!tuning?.byGpu) return uniqueConfigs(results.flatMap((each) => each.configs));
  const lists = new Map<string, Config[]>();
  const add = (config: Config) => {
    const name = formatGpu(config.gpu);
    lists.set(name, [...(lists.get(name) ?? []), config]);
  };
  configs.forEach(add);
  const replacements = results.flatMap(({ configs: fastest, architecture }) => {
    const gpu = architecture ? { gpu: configsForExactGpu(architecture) } : {};
    return fastest.map((config): Config => ({ ...config, ...gpu }));
  });
  for (const { gpu } of replacements) lists.delete(formatGpu(gpu));
  replacements.forEach(add);
  return [...lists.values()].flatMap(uniqueConfigs);
}
