/**
 * The candidates of a kernel that declares no search space: those worth compiling, and the order in which to try them.
 */
import type {
  TestCase,
  CompiledKernel,
  Config,
  Traffic,
  SearchSpace,
  TileRole,
} from "../../compiled/compiled-kernel.js";
import { combinations, type Pruned, whyInvalid, declaredConfigs, configKey } from "./candidates.js";
import { type DeviceLimits, bytesOf, rateOf } from "./benchmark.js";
import { H200 } from "../../compiled/gpus.js";
import { valuesOf } from "../cases/cases.js";

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

// A lower bound for the run time of a config, from a model of the GPU. It only ranks candidates; measurements decide.

/**
 * The ratio of L2 cache bandwidth to memory bandwidth. Each multiprocessor reads 64 bytes per clock from L2, which is
 * 3.5 times the memory bandwidth of an H200.
 */
const L2_BANDWIDTH_FACTOR = 3.5;
/** The overhead of a program in milliseconds: its launch and filling its pipeline. */
const PROGRAM_OVERHEAD_MS = 1e-3;

/** Limits for an unknown GPU. Only the order of times matters. */
const DEFAULT_LIMITS = { gbps: 4800, rate: 989.4 };

/**
 * The roofline of the busiest multiprocessor, in milliseconds. It runs ⌈programs / multiprocessors⌉ whole programs.
 * Each program reads through the L2 cache and multiplies. Memory transfers each tensor at least once.
 */
export function estimate(
  kernel: CompiledKernel,
  testCase: TestCase,
  { programs, bytes, products }: Traffic,
  limits: DeviceLimits | undefined,
): number {
  if (programs === 0) return 0;
  const multiprocessors = testCase.gpu?.multiProcessorCount ?? H200.multiProcessorCount;
  const waves = Math.ceil(programs / multiprocessors);
  const imbalance = (waves * multiprocessors) / programs;
  const gbps = limits?.gbps ?? DEFAULT_LIMITS.gbps;
  const compute =
    (2 * products * imbalance) / (limits?.tflops?.[rateOf(kernel, testCase)] ?? DEFAULT_LIMITS.rate) / 1e9;
  const l2 = (bytes * imbalance) / (L2_BANDWIDTH_FACTOR * gbps) / 1e6;
  return Math.max(compute, l2, bytesOf(kernel, testCase) / gbps / 1e6) + PROGRAM_OVERHEAD_MS * waves;
}

// The search space of a kernel that declares none, derived from the roles of its constexprs in its tiles.

/** Reasonable tile sizes on current GPUs, by role. */
const ROLE_VALUES: Readonly<Record<TileRole, readonly number[]>> = {
  rows: [16, 32, 64, 128, 256],
  columns: [16, 32, 64, 128, 256],
  inner: [32, 64, 128],
  length: [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
  order: [1, 4, 8, 16],
};
const WARPS = [1, 2, 4, 8, 16, 32];
/** Tensor cores need four warps, or fewer if tiles are small. */
const DOT_WARPS = [2, 4, 8];
const STAGES = [2, 3, 4, 5];

/**
 * The search space: tile sizes by role, numbers of warps, and numbers of stages if Triton pipelines. All other options
 * keep the values of the declared configs, and declared values are always included.
 */
export function derivedSpace({ configs, tuning, signature }: CompiledKernel): SearchSpace {
  const { roles = {}, pipelined = false } = tuning ?? {};
  const values = new Map<string, Set<number | boolean | string>>();
  const add = (name: string, extra: readonly (number | boolean | string)[]) =>
    values.set(name, new Set([...(values.get(name) ?? []), ...extra]));
  for (const config of configs) for (const [name, value] of Object.entries(valuesOf(config))) add(name, [value]);
  for (const [name, role] of Object.entries(roles)) add(name, ROLE_VALUES[role]);
  add("numWarps", signature.arithmetic.dots.length > 0 ? DOT_WARPS : WARPS);
  if (pipelined) add("numStages", STAGES);
  return Object.fromEntries([...values].map(([name, options]) => [name, sortValues([...options])]));
}

const sortValues = <V extends number | boolean | string>(values: readonly V[]): readonly V[] =>
  values.toSorted((a, b) => Number(a) - Number(b));

/** The constexprs with one of these roles. */
function namesOf({ tuning }: CompiledKernel, ...roles: readonly TileRole[]): readonly string[] {
  return Object.entries(tuning?.roles ?? {}).flatMap(([name, role]) => (roles.includes(role) ? [name] : []));
}

/** Triton's default. */
const DEFAULT_WARPS = 4;

/** A key for the constexprs of a config that determine the tile of a program. */
export function tileKey(kernel: CompiledKernel, config: Config): string {
  return JSON.stringify(namesOf(kernel, "rows", "columns", "length").map((name) => config.values[name]));
}

/** The number of accumulators, and of elements of the largest loaded or stored tile, per thread. */
function perThread(config: Config, { sums, widest }: Traffic, lanes: number) {
  const threads = (config.numWarps ?? DEFAULT_WARPS) * lanes;
  return { sums: sums / threads, elements: widest / threads };
}

/** Accumulators per thread: the minimum that justifies a thread, and the maximum that fits its registers. */
const SUM_LIMITS = { min: 8, max: 128 };
const ELEMENT_LIMITS = { min: 1, max: 128 };

/**
 * The reason why a config is not worth compiling: in every case, a thread has too many values for its registers or too
 * little work.
 */
export function whyPoorConfig(config: Config, cases: readonly Traffic[], lanes: number): string | undefined {
  const reasons = cases.map((traffic) => {
    const { sums, elements } = perThread(config, traffic, lanes);
    const [noun, count, { min, max }] = sums > 0 ? ["sums", sums, SUM_LIMITS] : ["elements", elements, ELEMENT_LIMITS];
    if (count > max) return `more ${noun} of a tile than the ${max} that a thread has registers for`;
    return count < min ? `fewer ${noun} of a tile than the ${min} that make a thread worth its start` : undefined;
  });
  return reasons.every((reason) => reason !== undefined) ? reasons[0] : undefined;
}
