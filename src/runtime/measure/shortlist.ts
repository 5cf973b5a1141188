/**
 * The candidates of a kernel that declares no search space: those worth compiling, and the order in which to try them.
 */
import type { TestCase, CompiledKernel, Config, Traffic } from "../../compiled/compiled-kernel.js";
import { combinations, type Pruned, whyInvalid } from "./candidates.js";
import { derivedSpace, namesOf, perThread, tileKey, whyPoorConfig } from "./derived-space.js";
import { estimate } from "./estimate.js";
import { declaredConfigs } from "./own-configs.js";
import type { DeviceLimits } from "./roofline.js";
import { configKey } from "./trial-cache.js";

/** The number of tiles retained per case. The model ranks the best tile among the first few. */
const MAX_TILES = 12;

/** The properties of a GPU that affect the ranking. */
export interface RankingGpu {
  readonly limits?: DeviceLimits | undefined;
  /** Lanes of a warp. */
  readonly lanes: number;
}

/** The declared configs, then the promising ones of the derived search space. */
export function rankCandidates(
  kernel: CompiledKernel,
  cases: readonly TestCase[],
  gpu: RankingGpu,
): { readonly remaining: readonly Config[]; readonly pruned: readonly Pruned[] } {
  const declared = declaredConfigs(kernel);
  const declaredKeys = new Set(declared.map(configKey));
  const derived = combinations(kernel, derivedSpace(kernel)).filter((config) => !declaredKeys.has(configKey(config)));
  const reasons = new Map<Config, string>();
  const caseTimes = cases.map((testCase) => ({ testCase, times: new Map<string, number>() }));
  const invalidReason = memoize((config: Config) => whyInvalid(kernel, config));
  for (const [tile, configs] of tilesOf(kernel, derived)) {
    const launches = caseTimes.map((each) => ({ ...each, traffic: trafficOf(kernel, configs[0], each.testCase) }));
    const traffics = launches.map(({ traffic }) => traffic);
    // Generated sizes may cause a division by zero.
    const noGrid = traffics.every(({ programs }) => !Number.isFinite(programs)) ? NO_GRID : undefined;
    for (const config of configs) {
      const reason =
        noGrid ?? whyPoorConfig(config, traffics, gpu.lanes) ?? invalidReason(JSON.stringify(config.values), config);
      if (reason !== undefined) reasons.set(config, reason);
    }
    if (configs.every((config) => reasons.has(config))) continue;
    for (const { testCase, times, traffic } of launches)
      times.set(tile, estimate(kernel, testCase, traffic, gpu.limits));
  }
  const fastest = caseTimes.flatMap(({ times }) => [...times].sort(([, a], [, b]) => a - b).slice(0, MAX_TILES));
  const retainedTiles = new Set(fastest.map(([tile]) => tile));
  const remaining: Config[] = [...declared];
  const pruned: Pruned[] = [];
  for (const config of derived) {
    const reason = reasons.get(config) ?? (retainedTiles.has(tileKey(kernel, config)) ? undefined : SLOW);
    if (reason === undefined) remaining.push(config);
    else pruned.push({ config, reason });
  }
  return { remaining, pruned };
}
const NO_GRID = "its grid has no number of programs";
const SLOW = `by the model of the GPU, ${MAX_TILES} other tiles are faster in every case`;

/** Calls `compute` once per key. */
function memoize<V, R>(compute: (value: V) => R): (key: string, value: V) => R {
  const results = new Map<string, R>();
  return (key, value) => {
    if (!results.has(key)) results.set(key, compute(value));
    return results.get(key) as R;
  };
}

function trafficOf({ tuning, signature }: CompiledKernel, config: Config, testCase: TestCase): Traffic {
  if (!tuning) throw new Error(`${signature.name} is not autotuned`);
  return tuning.traffic(config, testCase);
}

function tilesOf(
  kernel: CompiledKernel,
  configs: readonly Config[],
): ReadonlyMap<string, readonly [Config, ...Config[]]> {
  const tiles = new Map<string, [Config, ...Config[]]>();
  for (const config of configs) {
    const tile = tileKey(kernel, config);
    const sameTile = tiles.get(tile);
    if (sameTile) sameTile.push(config);
    else tiles.set(tile, [config]);
  }
  return tiles;
}

/** Values that are usually best: stages, order, inner dimension of dots, and accumulators and elements per thread. */
const TYPICAL = { stages: 3, order: 8, inner: 64, sums: 64, elements: 16 };
/** The relative penalty of a config for each factor of two between its values and the typical ones. */
const PENALTY_PER_STEP = 0.06;

/** The estimated time of a config in a case, with a penalty for values far from the typical ones. */
function score(
  kernel: CompiledKernel,
  config: Config,
  testCase: TestCase,
  traffic: Traffic,
  { limits, lanes }: RankingGpu,
): number {
  const { sums, elements } = perThread(config, traffic, lanes);
  const stepsBetween = (value: number, typical: number) => Math.abs(Math.log2(Math.max(value, 1 / 8) / typical));
  const roleSteps = (role: "order" | "inner") =>
    namesOf(kernel, role).reduce((sum, name) => sum + stepsBetween(Number(config.values[name]), TYPICAL[role]), 0);
  const { numStages = TYPICAL.stages } = config;
  const distance =
    (sums > 0 ? stepsBetween(sums, TYPICAL.sums) : stepsBetween(elements, TYPICAL.elements)) +
    Math.abs(numStages - TYPICAL.stages) +
    roleSteps("order") +
    roleSteps("inner");
  return estimate(kernel, testCase, traffic, limits) * (1 + PENALTY_PER_STEP * distance);
}

/** The number of warp counts to try first for each tile. */
const WARP_COUNTS_PER_TILE = 2;

/**
 * The order in which to try configs in a case: declared ones, then the most promising of each tile, then the others.
 */
export function searchOrder(
  kernel: CompiledKernel,
  testCase: TestCase,
  {
    declaredCount,
    skip,
    gpu,
  }: { readonly declaredCount: number; readonly skip: ReadonlySet<number>; readonly gpu: RankingGpu },
): readonly number[] {
  const traffics = new Map<string, Traffic>();
  const scoreOf = (config: Config): number => {
    const tile = tileKey(kernel, config);
    const traffic = traffics.get(tile) ?? trafficOf(kernel, config, testCase);
    traffics.set(tile, traffic);
    return score(kernel, config, testCase, traffic, gpu);
  };
  const accepted = [...kernel.configs.entries()].flatMap(([index, config]) =>
    skip.has(index) || kernel.refusal({ ...testCase, config: index }) !== undefined
      ? []
      : [{ index, config, score: scoreOf(config) }],
  );
  const others = accepted.filter(({ index }) => index >= declaredCount).sort((a, b) => a.score - b.score);
  const warps = new Map<string, Set<number | undefined>>();
  const first = others.filter(({ config }) => {
    const tile = tileKey(kernel, config);
    const triedWarps = warps.get(tile) ?? new Set();
    const { numWarps } = config;
    if (triedWarps.size >= WARP_COUNTS_PER_TILE || triedWarps.has(numWarps)) return false;
    warps.set(tile, triedWarps.add(numWarps));
    return true;
  });
  const declared = accepted.filter(({ index }) => index < declaredCount);
  return [...new Set([...declared, ...first, ...others].map(({ index }) => index))];
}
