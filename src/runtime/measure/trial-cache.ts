/** A cache of tuning measurements, which persists between runs. */
import { cacheKey } from "../../compiled/canonical-json.js";
import { join } from "node:path";
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { configAt, valuesOf } from "../cases/cases.js";
import { cacheFolder, keyOfText, readCache, withoutConfigs, writeCached } from "../system/caches.js";
import type { Timing } from "../worker/protocol.js";
import type { PythonDevice } from "../devices/device.js";

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
