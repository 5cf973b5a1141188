/**
 * Searches a derived space on a GPU by successive halving, separately for each case, in the order of a cost model.
 * Configs that exceed the GPU's resources are detected by compiling them first.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { type RankingGpu, searchOrder } from "./shortlist.js";
import { ofCase, type Trial, TrialCache, valuesKey } from "./candidates.js";
import {
  type SearchOptions,
  type SearchResult,
  compileBatch,
  launchIn,
  type SearchContext,
  timeAgain,
  tryInCase,
} from "./tuner.js";
import { type PythonDevice, openWorkspace, type Workspace } from "../devices/device.js";
import { compileRequest } from "../devices/request.js";
import { problemsOf } from "../target-compile/targets.js";
import { failureOf } from "../cases/outcome.js";
import { COMPILE_DEADLINE_MS } from "../target-compile/precompile.js";
import { occupancyOf, targets } from "../system/gpu-targets.js";
import { valuesOf } from "../cases/cases.js";

// Successive halving among candidates with neighbors, independent of the measurement.

/** The number of survivors after the first round. */
const SURVIVORS = 8;

interface Halving {
  /** All candidates, the most promising first. */
  readonly order: readonly number[];
  /** The candidates that are one step away from each candidate. */
  readonly neighbors: ReadonlyMap<number, readonly number[]>;
  /** The maximum number of measurements. */
  readonly maxMeasurements: number;
  /** Measures up to `count` of the first unmeasured configs. Returns the number of measurements. */
  measure(queue: readonly number[], count: number): Promise<number>;
  /** The fastest configs so far. */
  fastest(count: number): readonly number[];
}

/**
 * The first round measures half the maximum, in order. Each further round halves both the number of survivors and the
 * number of measurements. It measures the survivors' neighbors first, then the next configs in order.
 */
export async function halve({ order, neighbors, maxMeasurements: most, measure, fastest }: Halving): Promise<void> {
  if (order.length <= most) {
    await measure(order, most);
    return;
  }
  let survivors = SURVIVORS;
  for (let [remaining, count] = [most, Math.ceil(most / 2)]; remaining > 0; count = Math.ceil(count / 2)) {
    const neighborsOfFastest = fastest(survivors).flatMap((config) => neighbors.get(config) ?? []);
    const measured = await measure([...neighborsOfFastest, ...order], Math.min(remaining, count));
    if (measured === 0) return;
    if (neighborsOfFastest.length > 0) survivors = Math.max(1, survivors / 2);
    remaining -= measured;
  }
}

type Point = Readonly<Record<string, number | boolean | string>>;
/** Triton's defaults. */
const DEFAULTS = { numWarps: 4, numStages: 3 };

/** The configs that differ from each config by one step in one value. */
export function neighborsOf({ configs }: Pick<CompiledKernel, "configs">): ReadonlyMap<number, readonly number[]> {
  const points = configs.map((config): Point => ({ ...DEFAULTS, ...valuesOf(config) }));
  const names = new Set(points.flatMap((point) => Object.keys(point)));
  const indexByKey = new Map(points.map((point, i) => [valuesKey(point), i]));
  const steps = [...names].map((name) => {
    const values = new Set(points.flatMap((point) => point[name] ?? []));
    return [name, [...values].sort((a, b) => Number(a) - Number(b))] as const;
  });
  const neighbors = (point: Point): readonly number[] =>
    steps.flatMap(([name, values]) => {
      const value = point[name];
      const index = value === undefined ? -1 : values.indexOf(value);
      if (index < 0) return [];
      return [values[index - 1], values[index + 1]].flatMap(
        (value) => (value === undefined ? undefined : indexByKey.get(valuesKey({ ...point, [name]: value }))) ?? [],
      );
    });
  return new Map(points.map((point, i) => [i, neighbors(point)]));
}

// Finds candidates that exceed the GPU's resources by compiling them in other processes while nothing is measured.

/** The limit of spilled bytes per thread. More spilling costs more than a larger tile gains. */
const MAX_SPILLED_BYTES = 128;

/** Returns the reason why a config cannot run or spills much, by config. Compiled binaries stay in Triton's cache. */
export async function configsOverResources(
  kernel: CompiledKernel,
  { compilers, hello }: Pick<PythonDevice, "compilers" | "hello">,
  { module }: Workspace,
  cases: readonly TestCase[],
  onDone?: (done: number, planned: number) => void,
): Promise<ReadonlyMap<number, string>> {
  const reasonByConfig = new Map<number, string>();
  const target = targets.find(({ triton }) => JSON.stringify(triton) === JSON.stringify(hello.target));
  if (!compilers || !target) return reasonByConfig;
  let done = 0;
  await compilers.forEach(cases, async (server, testCase) => {
    const reply = await server.request(compileRequest(kernel, module, testCase, target), COMPILE_DEADLINE_MS);
    const reason = reply.ok
      ? whyOverResources({
          target,
          testCase,
          cached: false,
          resources: reply.result,
          occupancy: occupancyOf(target, reply.result),
        })
      : whyOverResources({ target, testCase, cached: false, failure: failureOf(kernel, reply.error) });
    if (reason !== undefined) reasonByConfig.set(testCase.config, reason);
    onDone?.(++done, cases.length);
  });
  return reasonByConfig;
}

function whyOverResources(compilation: Parameters<typeof problemsOf>[0]): string | undefined {
  const problems = problemsOf(compilation, undefined);
  const spilled = compilation.resources?.spilled ?? 0;
  const worst = problems.find(({ severity }) => severity === "error");
  if (worst) return worst.problem;
  return spilled > MAX_SPILLED_BYTES ? `registers spill: each thread keeps ${spilled} bytes in memory` : undefined;
}

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
