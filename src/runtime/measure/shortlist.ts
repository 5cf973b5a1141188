/** The candidates of a kernel that declares no space: which are worth compiling, and which to try first. */
import type { TestCase, CompiledKernel, Config, Traffic } from "../../compiled/compiled-kernel.js";
import { combinations, type Pruned, unfitReason } from "./candidates.js";
import { derivedSpace, namesOf, perThread, tileOf, isPoorConfig } from "./derived-space.js";
import { estimate } from "./estimate.js";
import { ownConfigs } from "./own-configs.js";
import type { DeviceLimits } from "./roofline.js";
import { identity } from "./trial-cache.js";

/** The tiles that are kept for a case: the model has the best among the first few. */
const TILES = 12;

/** A GPU as far as a shortlist depends on it. */
export interface Shortlisted {
  readonly limits?: DeviceLimits | undefined;
  /** Lanes of a warp. */
  readonly lanes: number;
}

/** The author's configs, then what is worth trying of the space that follows from the roles of its constexprs. */
export function rankCandidates(
  kernel: CompiledKernel,
  cases: readonly TestCase[],
  gpu: Shortlisted,
): { readonly kept: readonly Config[]; readonly pruned: readonly Pruned[] } {
  const own = ownConfigs(kernel);
  const known = new Set(own.map(identity));
  const made = combinations(kernel, derivedSpace(kernel)).filter((config) => !known.has(identity(config)));
  const reasons = new Map<Config, string>();
  const times = cases.map((): (readonly [tile: string, ms: number])[] => []);
  const unfit = remembered((config: Config) => unfitReason(kernel, config));
  for (const [tile, configs] of tilesOf(kernel, made)) {
    const traffics = cases.map((at) => kernel.tuning!.traffic(configs[0]!, at));
    // Sizes that are not the author's may divide by zero.
    const noGrid = traffics.every(({ programs }) => !Number.isFinite(programs)) ? NO_GRID : undefined;
    for (const config of configs) {
      const reason =
        noGrid ?? isPoorConfig(config, traffics, gpu.lanes) ?? unfit(JSON.stringify(config.values), config);
      if (reason !== undefined) reasons.set(config, reason);
    }
    if (configs.every((config) => reasons.has(config))) continue;
    cases.forEach((at, i) => times[i]!.push([tile, estimate(kernel, at, traffics[i]!, gpu.limits)]));
  }
  const fastest = times.flatMap((all) => all.sort(([, a], [, b]) => a - b).slice(0, TILES));
  const near = new Set(fastest.map(([tile]) => tile));
  const kept: Config[] = [...own];
  const pruned: Pruned[] = [];
  for (const config of made) {
    const reason = reasons.get(config) ?? (near.has(tileOf(kernel, config)) ? undefined : SLOW);
    if (reason === undefined) kept.push(config);
    else pruned.push({ config, reason });
  }
  return { kept, pruned };
}
const NO_GRID = "its grid has no number of programs";
const SLOW = `by the model of the GPU, ${TILES} other tiles are faster in every case`;

/** Computes once for each key. */
function remembered<V, R>(compute: (value: V) => R): (key: string, value: V) => R {
  const known = new Map<string, R>();
  return (key, value) => {
    if (!known.has(key)) known.set(key, compute(value));
    return known.get(key) as R;
  };
}

function tilesOf(kernel: CompiledKernel, configs: readonly Config[]): ReadonlyMap<string, readonly Config[]> {
  const tiles = new Map<string, Config[]>();
  for (const config of configs) {
    const tile = tileOf(kernel, config);
    const others = tiles.get(tile);
    if (others) others.push(config);
    else tiles.set(tile, [config]);
  }
  return tiles;
}

/** What is mostly best: stages, orders, the inner dimension of products, and what a thread has of a tile. */
const TYPICAL = { stages: 3, order: 8, inner: 64, sums: 64, elements: 16 };
/** A step away from it, by a factor of two, makes a config so much less likely. */
const STEP = 0.06;

/** What the model gives a config in a case, a little more the further it is from what is mostly best. */
function score(
  kernel: CompiledKernel,
  config: Config,
  at: TestCase,
  traffic: Traffic,
  { limits, lanes }: Shortlisted,
): number {
  const { sums, elements } = perThread(config, traffic, lanes);
  const steps = (given: number, typical: number) => Math.abs(Math.log2(Math.max(given, 1 / 8) / typical));
  const sized = (role: "order" | "inner") =>
    namesOf(kernel, role).reduce((sum, name) => sum + steps(Number(config.values[name]), TYPICAL[role]), 0);
  const { numStages = TYPICAL.stages } = config;
  const away =
    (sums > 0 ? steps(sums, TYPICAL.sums) : steps(elements, TYPICAL.elements)) +
    Math.abs(numStages - TYPICAL.stages) +
    sized("order") +
    sized("inner");
  return estimate(kernel, at, traffic, limits) * (1 + STEP * away);
}

/** Of the first tiles, each is tried with so many numbers of warps. */
const WARPS_A_TILE = 2;

/** The kernel's configs in a case: the author's, then the likeliest of each tile, then the others. */
export function tryingOrder(
  kernel: CompiledKernel,
  at: TestCase,
  { own, skip, gpu }: { readonly own: number; readonly skip: ReadonlySet<number>; readonly gpu: Shortlisted },
): readonly number[] {
  const taken = [...kernel.configs.keys()].filter(
    (config) => !skip.has(config) && kernel.refusal({ ...at, config }) === undefined,
  );
  const traffics = new Map<string, Traffic>();
  const scoreOf = (config: Config): number => {
    const tile = tileOf(kernel, config);
    const traffic = traffics.get(tile) ?? kernel.tuning!.traffic(config, at);
    traffics.set(tile, traffic);
    return score(kernel, config, at, traffic, gpu);
  };
  const scores = new Map(taken.map((config) => [config, scoreOf(kernel.configs[config]!)]));
  const others = taken.filter((config) => config >= own).sort((a, b) => scores.get(a)! - scores.get(b)!);
  const warps = new Map<string, Set<number | undefined>>();
  const first = others.filter((config) => {
    const tile = tileOf(kernel, kernel.configs[config]!);
    const before = warps.get(tile) ?? new Set();
    const { numWarps } = kernel.configs[config]!;
    if (before.size >= WARPS_A_TILE || before.has(numWarps)) return false;
    warps.set(tile, before.add(numWarps));
    return true;
  });
  return [...new Set([...taken.filter((config) => config < own), ...first, ...others])];
}
