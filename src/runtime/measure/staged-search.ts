/**
 * The search of a derived space on a GPU, each case by itself: by successive halving, in the order of a model. What the GPU
 * has no room for is left out by compiling it first.
 */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { PythonDevice } from "../devices/devices.js";
import { openWorkspace } from "../devices/workspace.js";
import { halve, neighborsOf } from "./successive-halving.js";
import { configsOverResources } from "./resource-limits.js";
import { type Shortlisted, tryingOrder } from "./shortlist.js";
import { type Trial, TrialCache } from "./trial-cache.js";
import { compileBatch, type Searching, timeAgain, tryInCase } from "./trials.js";
import type { SearchOptions, SearchResult } from "./tuner.js";

/** For each case. */
export const roundsBudget = { configs: 60, seconds: 60 };

/** How many of the fastest are timed again at the end, with more calls. */
const FINALISTS = 4;

export interface RoundOptions extends Omit<SearchOptions, "seed"> {
  readonly gpu: Shortlisted;
}

export interface HalvingResult extends SearchResult {
  /** Configs that were compiled and not run, each with the reason. */
  readonly misfits: ReadonlyMap<number, string>;
}

export async function searchInRounds(
  kernel: CompiledKernel,
  device: PythonDevice,
  options: RoundOptions,
): Promise<HalvingResult> {
  const { cases, env = process.env } = options;
  const started = performance.now();
  const cache = await TrialCache.open(kernel, device, cases, env);
  const searching = { kernel, device, cases, cache, workspace: await openWorkspace(kernel, device.host) };
  const search = new Rounds(searching, options);
  try {
    for (const place of cases.keys()) await search.ofCase(place);
    await search.verifyWinners();
  } finally {
    await cache.saved;
    await searching.workspace.remove();
  }
  const { trials, misfits: left, fromCache } = search;
  const tried = [...new Set(trials.flatMap((each) => [...each.keys()]))];
  return { trials, tried, misfits: left, fromCache, seconds: Math.round(performance.now() - started) / 1000 };
}

class Rounds {
  readonly trials: readonly Map<number, Trial>[];
  readonly misfits = new Map<number, string>();
  fromCache = 0;
  #done = 0;
  readonly #neighbors: ReadonlyMap<number, readonly number[]>;

  constructor(
    readonly searching: Searching,
    readonly options: RoundOptions,
  ) {
    this.trials = searching.cases.map(() => new Map<number, Trial>());
    this.#neighbors = neighborsOf(searching.kernel);
  }

  async ofCase(place: number): Promise<void> {
    const { budget } = this.options;
    const [most, seconds] = [budget.configs ?? roundsBudget.configs, budget.seconds ?? roundsBudget.seconds];
    const until = performance.now() + 1000 * seconds;
    await halve({
      order: tryingOrder(this.searching.kernel, this.searching.cases[place]!, this.options),
      neighbors: this.#neighbors,
      most,
      measure: (queue, count) => this.#round(place, queue, count, until),
      fastest: (count) => this.#fastest(place, count),
    });
    await this.#timeAgain(place, this.#fastest(place, FINALISTS), until);
  }

  /** Measures the first of these configs that nobody has measured and that the GPU has room for. */
  async #round(place: number, queue: readonly number[], count: number, until: number): Promise<number> {
    const { kernel, device, workspace, cases, cache } = this.searching;
    const { own, onCompiled } = this.options;
    const trials = this.trials[place]!;
    const untried = [...new Set(queue)].filter((config) => !trials.has(config) && !this.misfits.has(config));
    const chosen: number[] = [];
    for (let next = 0; chosen.length < count && next < untried.length && performance.now() < until;) {
      const batch = untried.slice(next, next + count - chosen.length);
      next += batch.length;
      // The author's own are tried in any case, and known times need no binaries.
      const unsure = batch.filter((config) => config >= own && !cache.known(place, config));
      const launched = unsure.map((config): TestCase => ({ ...cases[place]!, config }));
      const left = await configsOverResources(kernel, device, workspace, launched, onCompiled);
      for (const [config, why] of left) this.misfits.set(config, why);
      chosen.push(...batch.filter((config) => !left.has(config)));
    }
    await this.#measure(place, chosen, until);
    return chosen.length;
  }

  /** The author's own are measured even when the time is over. */
  async #measure(place: number, configs: readonly number[], until: number): Promise<void> {
    const { searching, options } = this;
    await compileBatch(searching, [place], configs, options.onCompiled);
    const found = await searching.device.workers.each(configs, async (config, member) => {
      if (this.#isOver(until) && config >= options.own) return undefined;
      const tried = await tryInCase(searching, place, config, member);
      options.onDone?.(++this.#done);
      return tried;
    });
    for (const [i, config] of configs.entries()) {
      const tried = found[i];
      if (!tried) continue;
      this.trials[place]!.set(config, tried.trial);
      if (!tried.isNew) this.fromCache++;
    }
  }

  /** Tells apart the fastest, whose times from few calls may be in the wrong order. */
  async #timeAgain(place: number, configs: readonly number[], until: number): Promise<void> {
    const { searching } = this;
    await searching.device.workers.each(configs, async (config, member) => {
      const timed = this.#isOver(until) ? undefined : await timeAgain(searching, place, config, member);
      if (timed) this.trials[place]!.set(config, timed);
    });
  }

  #isOver(until: number): boolean {
    return this.searching.device.host?.lost !== undefined || performance.now() > until;
  }

  /** A config that is kept is right in every case: the autotuner tries it in all of them. */
  async verifyWinners(): Promise<void> {
    const winners = this.trials.flatMap((_, place) => this.#fastest(place, 1));
    for (const place of this.trials.keys()) {
      const others = winners.filter((config) => !this.trials[place]!.has(config));
      await this.#measure(place, [...new Set(others)], Infinity);
    }
  }

  #fastest(place: number, count: number): readonly number[] {
    const times = [...this.trials[place]!].flatMap(([config, trial]) =>
      "median" in trial ? [[config, trial.median] as const] : [],
    );
    return times
      .sort(([, a], [, b]) => a - b)
      .slice(0, count)
      .map(([config]) => config);
  }
}
