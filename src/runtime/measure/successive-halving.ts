/** Successive halving among candidates that have neighbors, whoever measures them. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";
import { identityOf } from "./trial-cache.js";

/** How many of the fastest the first round leaves. */
const SURVIVORS = 8;

export interface Halving {
  /** All candidates, the likeliest first. */
  readonly order: readonly number[];
  /** Those that are one step away from each. */
  readonly neighbors: ReadonlyMap<number, readonly number[]>;
  /** The most that are measured. */
  readonly most: number;
  /** Measures so many of the first of these that were not measured; says how many were. */
  measure(queue: readonly number[], count: number): Promise<number>;
  /** The fastest so far. */
  fastest(count: number): readonly number[];
}

/**
 * The first round measures half as many as may be measured, in their order. Every further round keeps half as many of the
 * fastest, and measures half as many: those next to what it keeps, and where they run out, the next in order.
 */
export async function halve({ order, neighbors, most, measure, fastest }: Halving): Promise<void> {
  if (order.length <= most) {
    await measure(order, most);
    return;
  }
  let survivors = SURVIVORS;
  for (let [left, count] = [most, Math.ceil(most / 2)]; left > 0; count = Math.ceil(count / 2)) {
    const near = fastest(survivors).flatMap((config) => neighbors.get(config) ?? []);
    const measured = await measure([...near, ...order], Math.min(left, count));
    if (measured === 0) return;
    if (near.length > 0) survivors = Math.max(1, survivors / 2);
    left -= measured;
  }
}

type Point = Readonly<Record<string, number | boolean | string>>;
/** Triton's, where a config leaves them out. */
const DEFAULTS = { numWarps: 4, numStages: 3 };

/** For each config, those that differ from it by one step of one value. */
export function neighborsOf({ configs }: Pick<CompiledKernel, "configs">): ReadonlyMap<number, readonly number[]> {
  const points = configs.map((config): Point => ({ ...DEFAULTS, ...valuesOf(config) }));
  const names = new Set(points.flatMap((point) => Object.keys(point)));
  const places = new Map(points.map((point, i) => [identityOf(point), i]));
  const steps = [...names].map((name) => {
    const values = new Set(points.flatMap((point) => point[name] ?? []));
    return [name, [...values].sort((a, b) => Number(a) - Number(b))] as const;
  });
  const near = (point: Point): readonly number[] =>
    steps.flatMap(([name, values]) => {
      const own = point[name];
      const at = own === undefined ? -1 : values.indexOf(own);
      if (at < 0) return [];
      return [values[at - 1], values[at + 1]].flatMap(
        (value) => (value === undefined ? undefined : places.get(identityOf({ ...point, [name]: value }))) ?? [],
      );
    });
  return new Map(points.map((point, i) => [i, near(point)]));
}
