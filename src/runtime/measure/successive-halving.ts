/** Successive halving among candidates with neighbors, independent of the measurement. */
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import { valuesOf } from "../cases/case-text.js";
import { valuesKey } from "./trial-cache.js";

/** The number of survivors after the first round. */
const SURVIVORS = 8;

export interface Halving {
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
