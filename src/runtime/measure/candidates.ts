/**
 * The candidates of a search: the declared configs and the combinations of a search space, minus those that rules
 * exclude.
 */
import {
  type TestCase,
  type CompiledKernel,
  type Config,
  launchOptionNames,
  type SearchSpace,
  type FoundConfigs,
} from "../../compiled/compiled-kernel.js";
import { configAt, valuesOf } from "../cases/cases.js";
import { UsageError } from "../system/errors.js";
import { type Architecture, configsFor, configsForExactGpu, formatGpu } from "../../compiled/gpus.js";
import { cacheKey } from "../../compiled/canonical-json.js";
import { join } from "node:path";
import { cacheFolder, keyOfText, readCache, withoutConfigs, writeCached } from "../system/files.js";
import type { Timing } from "../worker/protocol.js";
import type { PythonDevice } from "../devices/device.js";

/** A config that was dropped before it ran, with the reason. */
export interface Pruned {
  readonly config: Config;
  readonly reason: string;
}

/** Every combination of the declared space. Names that the space lacks keep their value in the first config. */
export function candidatesOf(kernel: CompiledKernel, space: SearchSpace): readonly Config[] {
  const declared = declaredConfigs(kernel);
  const declaredKeys = new Set(declared.map(configKey));
  return [...declared, ...combinations(kernel, space).filter((config) => !declaredKeys.has(configKey(config)))];
}

/** @throws UsageError for a kernel that has no list of configs to choose from. */
export function checkTunable({ signature: { name }, tuning, parts }: CompiledKernel): void {
  if (parts)
    throw new UsageError(`${name} is an operator; tune its kernels instead: export them and choose one with --kernel`);
  if (!tuning) throw new UsageError(`${name} is not autotuned; give it autotune: { key, configs }`);
}

/** @throws UsageError if there are too many combinations. */
export function combinations({ signature: { name }, configs }: CompiledKernel, space: SearchSpace): readonly Config[] {
  const entries = Object.entries(space);
  const count = entries.reduce((product, [, values = []]) => product * values.length, 1);
  if (count > MANY_CANDIDATES)
    throw new UsageError(
      `the space of ${name} has ${count} configs; the most is ${MANY_CANDIDATES}, so declare fewer values`,
    );
  let points: Record<string, number | boolean | string>[] = [valuesOf(configAt({ configs }, 0))];
  for (const [axis, values = []] of entries)
    points = points.flatMap((point) => values.map((value) => ({ ...point, [axis]: value })));
  return points.map(configOf);
}
const MANY_CANDIDATES = 10_000;

function configOf(point: Record<string, number | boolean | string>): Config {
  const pickOptions = (isLaunchOption: boolean) =>
    Object.fromEntries(Object.entries(point).filter(([name]) => launchOptionNames.includes(name) === isLaunchOption));
  return { values: pickOptions(false), ...(pickOptions(true) as Omit<Config, "values">) };
}

/** Keeps the configs that the rules for tiles allow. Triton would reject the others for any size. */
export function pruneByRules(
  kernel: CompiledKernel,
  candidates: readonly Config[],
): { readonly remaining: readonly Config[]; readonly pruned: readonly Pruned[] } {
  const remaining: Config[] = [];
  const pruned: Pruned[] = [];
  for (const config of candidates) {
    const reason = whyInvalid(kernel, config);
    if (reason === undefined) remaining.push(config);
    else pruned.push({ config, reason });
  }
  return { remaining, pruned };
}

/** The reason why Triton would reject a config for any size. */
export function whyInvalid({ tuning }: CompiledKernel, config: Config): string | undefined {
  return tuning?.unfit(config)?.replace(" in config 0", "");
}

/** The configs that the kernel's requirements reject in every case, each with the reason. */
export function refusedEverywhere(kernel: CompiledKernel, cases: readonly TestCase[]): Map<number, string> {
  const reasonByConfig = new Map<number, string>();
  for (const config of kernel.configs.keys()) {
    const reasons = cases.map((testCase) => kernel.refusal({ ...testCase, config }));
    if (reasons.every((reason) => reason !== undefined))
      reasonByConfig.set(config, `the kernel refuses it (${reasons[0]})`);
  }
  return reasonByConfig;
}

/** Parses `BLOCK=64,128` and `numWarps=4,8`. The names are the kernel's. */
export function parseSpace({ configs, signature }: CompiledKernel, texts: readonly string[]): SearchSpace {
  const validNames = [...new Set([...configs.flatMap(({ values }) => Object.keys(values)), ...launchOptionNames])];
  return Object.fromEntries(
    texts.map((text) => {
      const [name = "", values = ""] = text.split("=", 2);
      if (!validNames.includes(name))
        throw new UsageError(
          `--space: configs of ${signature.name} choose no ${name}; they choose ${validNames.join(", ")}`,
        );
      const kind = configs.map((config) => typeof valuesOf(config)[name]).find((type) => type !== "undefined");
      return [name, values.split(",").map((value) => parseValue(`--space: ${text}`, value, kind ?? "number"))];
    }),
  );
}

const EXPECTED_VALUES: Readonly<Partial<Record<string, string>>> = {
  number: "numbers, as in BLOCK=64,128",
  boolean: "true or false",
};

function parseValue(option: string, text: string, kind: string): number | boolean | string {
  if (kind === "string" && text !== "") return text;
  if (kind === "boolean" && (text === "true" || text === "false")) return text === "true";
  if (kind === "number" && text !== "" && Number.isFinite(Number(text))) return Number(text);
  const expected = EXPECTED_VALUES[kind] ?? "values";
  throw new UsageError(`${option}: it takes ${expected}`);
}

// The declared configs in the form that a search uses, and their combination with its results.

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

// A cache of tuning measurements, which persists between runs.

/** The result of a candidate in one case. */
export type Trial = Timing | { readonly wrong: string } | { readonly failed: string };

/** A key for a config. The order of values does not matter. */
export function configKey(config: Config): string {
  return valuesKey(valuesOf(config));
}

/** A key for named values, in any order. */
export function valuesKey(values: Readonly<Record<string, number | boolean | string>>): string {
  return cacheKey(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The item of a case, in a list with one item for each case of the search. */
export function ofCase<Item>(items: readonly Item[], caseIndex: number): Item {
  const item = items[caseIndex];
  if (item === undefined) throw new Error(`the search has no case ${caseIndex}`);
  return item;
}

interface CachedCase {
  readonly file: string;
  readonly trials: Record<string, Trial>;
}

/** One file per kernel, device, version of PyTorch and Triton, and test case. */
export class TrialCache {
  /** Serializes writes, because several workers may have results at the same time. */
  #saved: Promise<void> = Promise.resolve();

  private constructor(
    readonly kernel: CompiledKernel,
    readonly cases: readonly CachedCase[],
  ) {}

  static async open(kernel: CompiledKernel, device: PythonDevice, cases: readonly TestCase[], env: NodeJS.ProcessEnv) {
    const loads = cases.map(async (testCase): Promise<CachedCase> => {
      const file = cacheFile(kernel, device, testCase, env);
      return { file, trials: (await readCache<Record<string, Trial>>(file)) ?? {} };
    });
    return new TrialCache(kernel, await Promise.all(loads));
  }

  get(caseIndex: number, config: number): Trial | undefined {
    return ofCase(this.cases, caseIndex).trials[this.#key(config)];
  }

  set(caseIndex: number, config: number, trial: Trial): void {
    const { file, trials } = ofCase(this.cases, caseIndex);
    trials[this.#key(config)] = trial;
    this.#saved = this.#saved.then(() => writeCached(file, trials));
  }

  #key(config: number): string {
    return configKey(configAt(this.kernel, config));
  }

  /** Resolves when everything is written. */
  get saved(): Promise<void> {
    return this.#saved;
  }
}

/** The cache file for everything that a trial depends on: the module, the comparison and the device. */
function cacheFile(
  kernel: CompiledKernel,
  { hello }: PythonDevice,
  testCase: TestCase,
  env: NodeJS.ProcessEnv,
): string {
  const { config: _, seed: __, ...inputs } = testCase;
  const { torch, triton } = hello.versions;
  const comparisonKey = [kernel.tolerance ?? {}, kernel.ranges(testCase)];
  const text = cacheKey([withoutConfigs(kernel.python), hello.deviceName, torch, triton, inputs, comparisonKey]);
  return join(cacheFolder(env), "tuned", `${keyOfText(text)}.json`);
}
