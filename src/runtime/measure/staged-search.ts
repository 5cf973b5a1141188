/**
 * Searches a derived space on a GPU by successive halving, separately for each case, in the order of a cost model.
 * Configs that exceed the GPU's resources are detected by compiling them first.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { openWorkspace } from "../devices/workspace.js";
import { halve, neighborsOf } from "./successive-halving.js";
import { configsOverResources } from "./resource-limits.js";
import { type RankingGpu, searchOrder } from "./shortlist.js";
import { ofCase, type Trial, TrialCache } from "./trial-cache.js";
import { compileBatch, launchIn, type SearchContext, timeAgain, tryInCase } from "./trials.js";
import type { SearchOptions, SearchResult } from "./tuner.js";
import type { PythonDevice } from "../devices/device.js";

/** The budget for each case. */
export const DEFAULT_BUDGET = { count: 60, seconds: 60 };

/** The number of fastest configs that are timed again at the end, with more calls. */
const FINALISTS = 4;

export interface RoundOptions extends Omit<SearchOptions, "seed"> {
  readonly gpu: RankingGpu;
}

export interface HalvingResult extends SearchResult {
  /** Configs that were compiled but not run, each with the reason. */
  readonly overResources: ReadonlyMap<number, string>;
}

export async function searchInRounds(
  kernel: CompiledKernel,
  device: PythonDevice,
  options: RoundOptions,
): Promise<HalvingResult> {
  const { cases, env = process.env } = options;
  const start = performance.now();
  const cache = await TrialCache.open(kernel, device, cases, env);
  const context = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const search = new HalvingSearch(context, options);
  try {
    for (const [caseIndex, testCase] of cases.entries()) await search.searchCase(caseIndex, testCase);
    await search.verifyWinners();
  } finally {
    await cache.saved;
    await context.workspace.remove();
  }
  const { trials, overResources, fromCache } = search;
  const triedConfigs = [...new Set(trials.flatMap((each) => [...each.keys()]))];
  return {
    trials,
    tried: triedConfigs,
    overResources,
    fromCache,
    seconds: Math.round(performance.now() - start) / 1000,
  };
}

class HalvingSearch {
  readonly trials: readonly Map<number, Trial>[];
  readonly overResources = new Map<number, string>();
  fromCache = 0;
  #done = 0;
  readonly #neighbors: ReadonlyMap<number, readonly number[]>;

  constructor(
    readonly context: SearchContext,
    readonly options: RoundOptions,
  ) {
    this.trials = context.cases.map(() => new Map<number, Trial>());
    this.#neighbors = neighborsOf(context.kernel);
  }

  async searchCase(caseIndex: number, testCase: TestCase): Promise<void> {
    const { budget } = this.options;
    const [maxConfigs, seconds] = [budget.count ?? DEFAULT_BUDGET.count, budget.seconds ?? DEFAULT_BUDGET.seconds];
    const deadline = performance.now() + 1000 * seconds;
    await halve({
      order: searchOrder(this.context.kernel, testCase, this.options),
      neighbors: this.#neighbors,
      maxMeasurements: maxConfigs,
      measure: (queue, count) => this.#round(caseIndex, queue, count, deadline),
      fastest: (count) => this.#fastest(caseIndex, count),
    });
    await this.#timeAgain(caseIndex, this.#fastest(caseIndex, FINALISTS), deadline);
  }

  /** Measures the first of these configs that are neither measured nor over the GPU's resources. */
  async #round(caseIndex: number, queue: readonly number[], count: number, deadline: number): Promise<number> {
    const { kernel, device, workspace, cache } = this.context;
    const { declaredCount, onCompiled } = this.options;
    const trials = ofCase(this.trials, caseIndex);
    const untried = [...new Set(queue)].filter((config) => !trials.has(config) && !this.overResources.has(config));
    const toMeasure: number[] = [];
    for (let next = 0; toMeasure.length < count && next < untried.length && performance.now() < deadline;) {
      const batch = untried.slice(next, next + count - toMeasure.length);
      next += batch.length;
      // Declared configs are always tried, and cached times need no binaries.
      const unchecked = batch.filter((config) => config >= declaredCount && !cache.get(caseIndex, config));
      const launches = unchecked.map((config) => launchIn(this.context, caseIndex, config));
      const overResources = await configsOverResources(kernel, device, workspace, launches, onCompiled);
      for (const [config, reason] of overResources) this.overResources.set(config, reason);
      toMeasure.push(...batch.filter((config) => !overResources.has(config)));
    }
    await this.#measure(caseIndex, toMeasure, deadline);
    return toMeasure.length;
  }

  /** Measures configs. Declared configs are measured even after the deadline. */
  async #measure(caseIndex: number, configs: readonly number[], deadline: number): Promise<void> {
    const { context: searching, options } = this;
    await compileBatch(searching, [caseIndex], configs, options.onCompiled);
    const results = await searching.device.workers.map(configs, async (config, member) => {
      if (this.#isOver(deadline) && config >= options.declaredCount) return undefined;
      const result = await tryInCase(searching, caseIndex, config, member);
      options.onDone?.(++this.#done);
      return result;
    });
    for (const [i, config] of configs.entries()) {
      const result = results[i];
      if (!result) continue;
      ofCase(this.trials, caseIndex).set(config, result.trial);
      if (!result.isNew) this.fromCache++;
    }
  }

  /** Times the fastest configs again, because times from few calls may be in the wrong order. */
  async #timeAgain(caseIndex: number, configs: readonly number[], deadline: number): Promise<void> {
    const { context: searching } = this;
    await searching.device.workers.map(configs, async (config, member) => {
      const timing = this.#isOver(deadline) ? undefined : await timeAgain(searching, caseIndex, config, member);
      if (timing) ofCase(this.trials, caseIndex).set(config, timing);
    });
  }

  #isOver(deadline: number): boolean {
    return this.context.device.host?.lossReason !== undefined || performance.now() > deadline;
  }

  /** Verifies the winner of each case in all other cases, because the autotuner tries it there too. */
  async verifyWinners(): Promise<void> {
    const winners = this.trials.flatMap((_, caseIndex) => this.#fastest(caseIndex, 1));
    for (const [caseIndex, trials] of this.trials.entries()) {
      const others = winners.filter((config) => !trials.has(config));
      await this.#measure(caseIndex, [...new Set(others)], Infinity);
    }
  }

  #fastest(caseIndex: number, count: number): readonly number[] {
    const times = [...ofCase(this.trials, caseIndex)].flatMap(([config, trial]) =>
      "median" in trial ? [[config, trial.median] as const] : [],
    );
    return times
      .sort(([, a], [, b]) => a - b)
      .slice(0, count)
      .map(([config]) => config);
  }
}
