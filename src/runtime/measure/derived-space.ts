/** The space of a kernel that declares none, from what its constexprs are to its tiles. */
import type { CompiledKernel, Config, SearchSpace, TileRole, Traffic } from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";

/** Sizes that are worth a try on today's GPUs, by what they are the size of. */
const SIZES: Readonly<Record<TileRole, readonly number[]>> = {
  rows: [16, 32, 64, 128, 256],
  columns: [16, 32, 64, 128, 256],
  inner: [32, 64, 128],
  length: [32, 64, 128, 256, 512, 1024, 2048, 4096, 8192],
  order: [1, 4, 8, 16],
};
const WARPS = [1, 2, 4, 8, 16, 32];
/** Tensor cores multiply with four warps at a time, or with fewer where tiles are small. */
const WARPS_OF_PRODUCTS = [2, 4, 8];
const STAGES = [2, 3, 4, 5];

/**
 * The values to try of what the roles explain, of warps, and of stages where Triton pipelines; of everything else, those
 * of the author's configs. The author's values of the former are tried too.
 */
export function derivedSpace({ configs, tuning, signature }: CompiledKernel): SearchSpace {
  const { roles = {}, pipelined = false } = tuning ?? {};
  const values = new Map<string, Set<number | boolean | string>>();
  const add = (name: string, more: readonly (number | boolean | string)[]) =>
    values.set(name, new Set([...(values.get(name) ?? []), ...more]));
  for (const config of configs) for (const [name, value] of Object.entries(valuesOf(config))) add(name, [value]);
  for (const [name, role] of Object.entries(roles)) add(name, SIZES[role]);
  add("numWarps", signature.arithmetic.dots.length > 0 ? WARPS_OF_PRODUCTS : WARPS);
  if (pipelined) add("numStages", STAGES);
  return Object.fromEntries([...values].map(([name, all]) => [name, inOrder([...all])]));
}

const inOrder = <V extends number | boolean | string>(values: readonly V[]): readonly V[] =>
  values.toSorted((a, b) => Number(a) - Number(b));

/** The constexprs with one of these roles. */
export function namesOf({ tuning }: CompiledKernel, ...roles: readonly TileRole[]): readonly string[] {
  return Object.entries(tuning?.roles ?? {}).flatMap(([name, role]) => (roles.includes(role) ? [name] : []));
}

/** Triton's, where a config names none. */
const DEFAULT_WARPS = 4;

/** Constexprs that a config's tile consists of: what programs compute at a time. */
export function tileOf(kernel: CompiledKernel, config: Config): string {
  return JSON.stringify(namesOf(kernel, "rows", "columns", "length").map((name) => config.values[name]));
}

/** How much of its largest sums, and of the largest tile that moves, a thread has in a config. */
export function perThread(config: Config, { sums, widest }: Traffic, lanes: number) {
  const threads = (config.numWarps ?? DEFAULT_WARPS) * lanes;
  return { sums: sums / threads, elements: widest / threads };
}

/** What a thread's registers hold at most, and what is worth its start. */
const SUMS = { least: 8, most: 128 };
const ELEMENTS = { least: 1, most: 128 };

/** Why a config is not worth compiling: in every case a thread would have more than registers hold, or hardly any work. */
export function isPoorConfig(config: Config, cases: readonly Traffic[], lanes: number): string | undefined {
  const reasons = cases.map((traffic) => {
    const { sums, elements } = perThread(config, traffic, lanes);
    const [what, count, { least, most }] = sums > 0 ? ["sums", sums, SUMS] : ["elements", elements, ELEMENTS];
    if (count > most) return `more ${what} of a tile than the ${most} that a thread has registers for`;
    return count < least ? `fewer ${what} of a tile than the ${least} that make a thread worth its start` : undefined;
  });
  return reasons.every((reason) => reason !== undefined) ? reasons[0] : undefined;
}
