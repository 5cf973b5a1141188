/** The search of a declared space: its candidates are verified and measured on a GPU, until the budget is spent. */
import fc from "fast-check";
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import type { PythonDevice } from "../devices/devices.js";
import { openWorkspace } from "../devices/workspace.js";
import type { Timing } from "../worker/protocol.js";
import { UsageError } from "../system/errors.js";
import { type Trial, TrialCache } from "./trial-cache.js";
import { compileBatch, tryInCases } from "./trials.js";

/**
 * When to stop: `all` never does, and measures every candidate. The author's own configs are measured in any case.
 */
export interface Budget {
  readonly seconds?: number;
  readonly configs?: number;
  readonly all?: true;
}

/** `60s`, `5m`, a number of configs, or `all`. */
export function parseBudget(text: string): Budget {
  if (text === "all") return { all: true };
  const match = /^([1-9]\d*)(s|m|)$/.exec(text);
  if (!match) throw new UsageError(`--budget: ${text} is not a budget; write 60s, 5m, a number of configs, or all`);
  const count = Number(match[1]);
  if (match[2] === "") return { configs: count };
  return { seconds: match[2] === "m" ? 60 * count : count };
}

export interface SearchResult {
  /** By case, then by index of the config. */
  readonly trials: readonly ReadonlyMap<number, Trial>[];
  /** Indices of the configs that were tried. */
  readonly tried: readonly number[];
  readonly fromCache: number;
  readonly seconds: number;
}

export interface SearchOptions {
  readonly cases: readonly TestCase[];
  /** Configs to skip. */
  readonly skip: ReadonlySet<number>;
  /** The number of the author's configs, which come first. */
  readonly own: number;
  readonly budget: Budget;
  readonly seed: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly onDone?: (tried: number) => void;
  /** Called after each kernel that was compiled ahead. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

/** How many configs are compiled ahead together. Nothing compiles during a measurement, which needs the CPU. */
const BATCH = 16;

/** Tries the author's configs, then the others in an order that depends on the seed, until the budget is spent. */
export async function search(
  kernel: CompiledKernel,
  device: PythonDevice,
  { cases, skip, own, budget, seed, env = process.env, onDone, onCompiled }: SearchOptions,
): Promise<SearchResult> {
  const started = performance.now();
  const trials = cases.map(() => new Map<number, Trial>());
  const tried: number[] = [];
  let [begun, done, fromCache] = [0, 0, 0];
  const isSpent = () =>
    device.host?.lost !== undefined ||
    (budget.configs !== undefined && begun >= budget.configs) ||
    (budget.seconds !== undefined && performance.now() - started > 1000 * budget.seconds);
  const cache = await TrialCache.open(kernel, device, cases, env);
  const searching = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const order = orderOf(kernel.configs.length, own, seed).filter((config) => !skip.has(config));
  try {
    for (let place = 0; place < order.length; place += BATCH) {
      const batch = order.slice(place, place + BATCH);
      if (batch[0]! >= own && isSpent()) break;
      const most = Math.max(own, budget.configs ?? Infinity) - place;
      await compileBatch(searching, [...cases.keys()], batch.slice(0, most), onCompiled);
      const found = await device.workers.each(batch, async (config, member) => {
        if (config >= own && isSpent()) return undefined;
        begun++;
        const results = await tryInCases(searching, config, member);
        onDone?.(++done);
        return results;
      });
      // In the order of the search, so that equal times have the same winner however many workers there are.
      for (const [i, config] of batch.entries()) {
        if (!found[i]) continue;
        for (const each of found[i]) trials[each.case]!.set(config, each.trial);
        fromCache += found[i].filter(({ isNew }) => !isNew).length;
        tried.push(config);
      }
    }
  } finally {
    await cache.saved;
    await searching.workspace.remove();
  }
  return { trials, tried, fromCache, seconds: Math.round(performance.now() - started) / 1000 };
}

/** The author's configs in their order, then the others shuffled. */
export function orderOf(count: number, own: number, seed: number): readonly number[] {
  const all = Array.from({ length: count }, (_, i) => i);
  const others = fc.shuffledSubarray(all.slice(own), { minLength: count - own });
  return [...all.slice(0, own), ...fc.sample(others, { seed, numRuns: 1 })[0]!];
}

/** The fastest config of each case, and the fastest of the author's configs. */
export interface Best {
  readonly at: TestCase;
  readonly config: number;
  readonly time: Timing;
  readonly own?: { readonly config: number; readonly time: Timing };
}

/**
 * Configs that are right in every case that they ran in; the fastest of them, a case each. `isOwn` says whether the
 * author's autotuner chooses from a config on this GPU.
 */
export function bestOf(
  { trials }: SearchResult,
  cases: readonly TestCase[],
  isOwn: (config: number) => boolean,
): readonly Best[] {
  const bad = new Set(
    trials.flatMap((each) => [...each].flatMap(([config, trial]) => ("median" in trial ? [] : config))),
  );
  return cases.flatMap((at, i): Best[] => {
    const times = [...trials[i]!].flatMap(([config, trial]) =>
      "median" in trial && !bad.has(config) ? [{ config, time: trial }] : [],
    );
    const fastest = (among: typeof times) =>
      among.reduce<(typeof times)[number] | undefined>(
        (best, each) => (best && best.time.median <= each.time.median ? best : each),
        undefined,
      );
    const best = fastest(times);
    const before = fastest(times.filter(({ config }) => isOwn(config)));
    return best ? [{ at, ...best, ...(before && { own: before }) }] : [];
  });
}

/** The configs to keep: each is the fastest in some case. */
export function fastestConfigs(kernel: CompiledKernel, best: readonly Best[]): readonly Config[] {
  return [...new Set(best.map(({ config }) => config))].map((config) => kernel.configs[config]!);
}
