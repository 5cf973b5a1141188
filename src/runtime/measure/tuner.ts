/** Searches a declared space: verifies and measures its candidates on a GPU until the budget is spent. */
import fc from "fast-check";
import type { TestCase, CompiledKernel, Config } from "../../compiled/compiled-kernel.js";
import { configAt } from "../cases/case-text.js";
import { openWorkspace } from "../devices/workspace.js";
import type { Budget } from "./budget.js";
import type { Timing } from "../worker/protocol.js";
import { type Trial, TrialCache } from "./trial-cache.js";
import { compileBatch, tryInCases } from "./trials.js";
import type { PythonDevice } from "../devices/device.js";

export interface SearchResult {
  /** Indexed by case, then by config. */
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
  /** The number of declared configs, which come first. */
  readonly declaredCount: number;
  readonly budget: Budget;
  readonly seed: number;
  readonly env?: NodeJS.ProcessEnv;
  readonly onDone?: (trialCount: number) => void;
  /** Called after each kernel that was compiled in advance. */
  readonly onCompiled?: (done: number, planned: number) => void;
}

/** The number of configs compiled together in advance. Nothing compiles during a measurement, which needs the CPU. */
const BATCH_SIZE = 16;

/** Tries the declared configs, then the others in an order that depends on the seed, until the budget is spent. */
export async function search(
  kernel: CompiledKernel,
  device: PythonDevice,
  { cases, skip, declaredCount, budget, seed, env = process.env, onDone, onCompiled }: SearchOptions,
): Promise<SearchResult> {
  const start = performance.now();
  const trials = cases.map(() => new Map<number, Trial>());
  const triedIndices: number[] = [];
  let [startedCount, doneCount, fromCache] = [0, 0, 0];
  const isSpent = () =>
    device.host?.lossReason !== undefined ||
    (budget.count !== undefined && startedCount >= budget.count) ||
    (budget.seconds !== undefined && performance.now() - start > 1000 * budget.seconds);
  const cache = await TrialCache.open(kernel, device, cases, env);
  const context = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const order = orderOf(kernel.configs.length, declaredCount, seed).filter((config) => !skip.has(config));
  try {
    for (let start = 0; start < order.length; start += BATCH_SIZE) {
      const batch = order.slice(start, start + BATCH_SIZE);
      if (batch.every((config) => config >= declaredCount) && isSpent()) break;
      const limit = Math.max(declaredCount, budget.count ?? Infinity) - start;
      await compileBatch(context, [...cases.keys()], batch.slice(0, limit), onCompiled);
      const results = await device.workers.map(batch, async (config, member) => {
        if (config >= declaredCount && isSpent()) return undefined;
        startedCount++;
        const results = await tryInCases(context, config, member);
        onDone?.(++doneCount);
        return results;
      });
      // Stores results in search order, so that ties do not depend on the number of workers.
      for (const [i, config] of batch.entries()) {
        if (!results[i]) continue;
        for (const result of results[i]) trials[result.caseIndex]!.set(config, result.trial);
        fromCache += results[i].filter(({ isNew }) => !isNew).length;
        triedIndices.push(config);
      }
    }
  } finally {
    await cache.saved;
    await context.workspace.remove();
  }
  return { trials, tried: triedIndices, fromCache, seconds: Math.round(performance.now() - start) / 1000 };
}

/** The declared configs in order, then the others shuffled. */
export function orderOf(count: number, declaredCount: number, seed: number): readonly number[] {
  const indices = Array.from({ length: count }, (_, i) => i);
  const others = fc.shuffledSubarray(indices.slice(declaredCount), { minLength: count - declaredCount });
  return [...indices.slice(0, declaredCount), ...fc.sample(others, { seed, numRuns: 1 }).flat()];
}

/** The fastest config of a case, and the fastest of the declared configs. */
export interface Best {
  readonly testCase: TestCase;
  readonly config: number;
  readonly time: Timing;
  readonly declared?: { readonly config: number; readonly time: Timing };
}

/**
 * The fastest config of each case, among those that are correct in every case that they ran in. `isOwn` is true if the
 * author's autotuner tries the config on this GPU.
 */
export function bestOf(
  { trials }: SearchResult,
  cases: readonly TestCase[],
  isDeclared: (config: number) => boolean,
): readonly Best[] {
  const incorrect = new Set(
    trials.flatMap((caseTrials) => [...caseTrials].flatMap(([config, trial]) => ("median" in trial ? [] : config))),
  );
  return cases.flatMap((testCase, i): Best[] => {
    const times = [...trials[i]!].flatMap(([config, trial]) =>
      "median" in trial && !incorrect.has(config) ? [{ config, time: trial }] : [],
    );
    const fastest = (candidates: typeof times) =>
      candidates.reduce<(typeof times)[number] | undefined>(
        (best, candidate) => (best && best.time.median <= candidate.time.median ? best : candidate),
        undefined,
      );
    const best = fastest(times);
    const bestDeclared = fastest(times.filter(({ config }) => isDeclared(config)));
    return best ? [{ testCase, ...best, ...(bestDeclared && { declared: bestDeclared }) }] : [];
  });
}

/** The configs to keep: each is the fastest in some case. */
export function fastestConfigs(kernel: CompiledKernel, best: readonly Best[]): readonly Config[] {
  return [...new Set(best.map(({ config }) => config))].map((config) => configAt(kernel, config));
}
