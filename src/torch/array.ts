/** The float64 arrays that references compute with, and functions that move, map and fold their elements. */
import { broadcastShapes, broadcastTo, permute, sizeOf, tileArray, type TileArray } from "../numerics/array.js";
import { TorchError } from "./errors.js";

/** Elements in row-major order. */
export interface TorchArray {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export function torchArray(shape: readonly number[], data: Float64Array): TorchArray {
  return { shape, data };
}

export const scalarArray = (value: number): TorchArray => torchArray([], Float64Array.of(value));

/** As a tile, whose functions move elements in the same way. */
function asTile({ shape, data }: TorchArray): TileArray {
  return tileArray("float64", shape, data);
}

const fromTile = ({ shape, data }: TileArray): TorchArray => torchArray(shape, data as Float64Array);

export function expandTo(x: TorchArray, shape: readonly number[]): TorchArray {
  return fitting(() => fromTile(broadcastTo(asTile(x), shape)));
}

/** Reports shapes that do not broadcast as the author's mistake. */
function fitting<R>(compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    throw new TorchError((error as Error).message);
  }
}

export function map(x: TorchArray, f: (x: number) => number): TorchArray {
  return torchArray(x.shape, x.data.map(f));
}

/** A function of arrays that broadcast to one shape. */
export function zip(xs: readonly [TorchArray, TorchArray], f: (x: number, y: number) => number): TorchArray;
export function zip(
  xs: readonly [TorchArray, TorchArray, TorchArray],
  f: (x: number, y: number, z: number) => number,
): TorchArray;
export function zip(xs: readonly TorchArray[], f: (...values: number[]) => number): TorchArray {
  const shape = fitting(() => xs.reduce<readonly number[]>((sofar, x) => broadcastShapes(sofar, x.shape), []));
  const [a, b, c] = xs.map((x) => expandTo(x, shape).data);
  const out = new Float64Array(sizeOf(shape));
  if (c) for (let i = 0; i < out.length; i++) out[i] = f(a![i]!, b![i]!, c[i]!);
  else for (let i = 0; i < out.length; i++) out[i] = f(a![i]!, b![i]!);
  return torchArray(shape, out);
}

export function total(lane: Float64Array): number {
  let sum = 0;
  for (let i = 0; i < lane.length; i++) sum += lane[i]!;
  return sum;
}

/** An axis counted from the front. Of a scalar, PyTorch takes the axis 0. */
export function axisOf(axis: number, rank: number): number {
  const found = axis < 0 ? axis + Math.max(rank, 1) : axis;
  if (found >= 0 && found < Math.max(rank, 1)) return found;
  throw new TorchError(`there is no axis ${axis} of ${rank === 1 ? "one axis" : `${rank} axes`}`);
}

export function transpose(x: TorchArray, first: number, second: number): TorchArray {
  const rank = x.shape.length;
  const order = x.shape.map((_, axis) => axis);
  const [a, b] = [axisOf(first, rank), axisOf(second, rank)];
  [order[a], order[b]] = [b, a];
  return reorder(x, order);
}

export function reorder(x: TorchArray, order: readonly number[]): TorchArray {
  const axes = order.map((axis) => axisOf(axis, x.shape.length));
  if (new Set(axes).size !== x.shape.length)
    throw new TorchError(`[${order.join(", ")}] does not order ${x.shape.length} axes`);
  if (x.data.length === 0)
    return torchArray(
      axes.map((axis) => x.shape[axis]!),
      x.data,
    );
  return axes.every((axis, place) => axis === place) ? x : fromTile(permute(asTile(x), axes));
}

/** The same elements; one dimension may be -1. */
export function reshapeTo(x: TorchArray, shape: readonly number[]): TorchArray {
  const known = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const whole = shape.map((dim) => (dim === -1 ? x.data.length / known : dim));
  if (sizeOf(whole) !== x.data.length || whole.some(Number.isNaN))
    throw new TorchError(`[${x.shape.join(", ")}] does not reshape to [${shape.join(", ")}]`);
  return torchArray(whole, x.data);
}

/** Folds some axes away: `fold` gets the elements of one lane. No axes means all. */
export function reduceAxes(
  x: TorchArray,
  axes: readonly number[],
  keep: boolean,
  fold: (lane: Float64Array) => number,
): TorchArray {
  const rank = x.shape.length;
  const counted = axes.map((axis) => axisOf(axis, rank));
  if (rank === 0) return scalarArray(fold(x.data));
  const gone = new Set(axes.length === 0 ? x.shape.keys() : counted);
  const kept = x.shape.map((_, axis) => axis).filter((axis) => !gone.has(axis));
  const { data } = reorder(x, [...kept, ...gone]);
  const length = [...gone].reduce((product, axis) => product * x.shape[axis]!, 1);
  const out = new Float64Array(sizeOf(kept.map((axis) => x.shape[axis]!)));
  for (let i = 0; i < out.length; i++) out[i] = fold(data.subarray(i * length, (i + 1) * length));
  const shape = keep ? x.shape.map((dim, axis) => (gone.has(axis) ? 1 : dim)) : kept.map((axis) => x.shape[axis]!);
  return torchArray(shape, out);
}

/** Replaces each lane along an axis by another one of its length. */
export function mapLanes(x: TorchArray, axis: number, f: (lane: Float64Array) => Float64Array): TorchArray {
  const last = x.shape.length - 1;
  if (axisOf(axis, x.shape.length) > last) return torchArray([], f(x.data));
  const moved = transpose(x, axis, last);
  const length = moved.shape[last]!;
  const out = new Float64Array(moved.data.length);
  for (let start = 0; start < out.length; start += length)
    out.set(f(moved.data.subarray(start, start + length)), start);
  return transpose(torchArray(moved.shape, out), axis, last);
}

/** Elements by their place in the operand's row-major order. */
export function pick(x: TorchArray, shape: readonly number[], places: ArrayLike<number>): TorchArray {
  return torchArray(
    shape,
    Float64Array.from(places, (place) => x.data[place]!),
  );
}
