/** The search space of a kernel that declares none, derived from the roles of its constexprs in its tiles. */
import type { CompiledKernel, Config, SearchSpace, TileRole, Traffic } from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";

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
export function namesOf({ tuning }: CompiledKernel, ...roles: readonly TileRole[]): readonly string[] {
  return Object.entries(tuning?.roles ?? {}).flatMap(([name, role]) => (roles.includes(role) ? [name] : []));
}

/** Triton's default. */
const DEFAULT_WARPS = 4;

/** A key for the constexprs of a config that determine the tile of a program. */
export function tileKey(kernel: CompiledKernel, config: Config): string {
  return JSON.stringify(namesOf(kernel, "rows", "columns", "length").map((name) => config.values[name]));
}

/** The number of accumulators, and of elements of the largest loaded or stored tile, per thread. */
export function perThread(config: Config, { sums, widest }: Traffic, lanes: number) {
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
