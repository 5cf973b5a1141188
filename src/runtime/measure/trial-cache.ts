/** What tuning has measured of a kernel, kept between runs. */
import { cacheKey } from "../../compiled/canonical-json.js";
import { join } from "node:path";
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";
import type { PythonDevice } from "../devices/devices.js";
import { cacheFolder } from "../system/cache-folder.js";
import { keyOfText, readCache, withoutConfigs, writeCached } from "../system/json-cache.js";
import type { Timing } from "../worker/protocol.js";

/** The result of a candidate in one case. */
export type Trial = Timing | { readonly wrong: string } | { readonly failed: string };

/** Configs are equal if they have equal values, in any order. */
export function identity(config: Config): string {
  return identityOf(valuesOf(config));
}

/** The same of values by name. */
export function identityOf(values: Readonly<Record<string, number | boolean | string>>): string {
  return cacheKey(Object.entries(values).sort(([a], [b]) => (a < b ? -1 : 1)));
}

interface CachedCase {
  readonly file: string;
  readonly trials: Record<string, Trial>;
}

/** One file for each kernel, device, version of PyTorch and Triton, and case. */
export class TrialCache {
  /** Files are written one after another, whichever of several workers has found something. */
  #saved: Promise<void> = Promise.resolve();

  private constructor(
    readonly kernel: CompiledKernel,
    readonly cases: readonly CachedCase[],
  ) {}

  static async open(kernel: CompiledKernel, device: PythonDevice, cases: readonly TestCase[], env: NodeJS.ProcessEnv) {
    const read = cases.map(async (at): Promise<CachedCase> => {
      const file = cacheFile(kernel, device, at, env);
      return { file, trials: (await readCache<Record<string, Trial>>(file)) ?? {} };
    });
    return new TrialCache(kernel, await Promise.all(read));
  }

  known(place: number, config: number): Trial | undefined {
    return this.cases[place]!.trials[identity(this.kernel.configs[config]!)];
  }

  keep(place: number, config: number, trial: Trial): void {
    const { file, trials } = this.cases[place]!;
    trials[identity(this.kernel.configs[config]!)] = trial;
    this.#saved = this.#saved.then(() => writeCached(file, trials));
  }

  /** Resolves when everything is written. */
  get saved(): Promise<void> {
    return this.#saved;
  }
}

/** What a trial depends on: the module, what it is compared by and with, and what it runs on. */
function cacheFile(kernel: CompiledKernel, { hello }: PythonDevice, at: TestCase, env: NodeJS.ProcessEnv): string {
  const { config: _, seed: __, ...given } = at;
  const { torch, triton } = hello.versions;
  const compared = [kernel.tolerance ?? {}, kernel.ranges(at)];
  const text = cacheKey([withoutConfigs(kernel.python), hello.deviceName, torch, triton, given, compared]);
  return join(cacheFolder(env), "tuned", `${keyOfText(text)}.json`);
}
