/** Float64 arrays, with which references are evaluated, and functions that move, map and fold their elements. */
import { broadcastShapes, broadcastTo, permute, sizeOf, tileArray, type TileArray } from "../numerics/array.js";

/** Thrown if a reference uses a feature that the evaluator does not support. The message names it. */
export class UnsupportedByEvaluator extends Error {
  override readonly name = "NotEvaluated";
}

/** Thrown for a mistake in the author's reference that PyTorch would also reject. */
export class TorchError extends Error {
  override readonly name = "TorchRefuses";
}

/** Elements in row-major order. */
export interface TorchArray {
  readonly shape: readonly number[];
  readonly data: Float64Array;
}

export function torchArray(shape: readonly number[], data: Float64Array): TorchArray {
  return { shape, data };
}

export const scalarArray = (value: number): TorchArray => torchArray([], Float64Array.of(value));

/** As a tile, to use the functions that move its elements. */
function asTile({ shape, data }: TorchArray): TileArray {
  return tileArray("float64", shape, data);
}

const fromTile = ({ shape, data }: TileArray): TorchArray => torchArray(shape, data as Float64Array);

export function expandTo(x: TorchArray, shape: readonly number[]): TorchArray {
  return withTorchErrors(() => fromTile(broadcastTo(asTile(x), shape)));
}

/** Converts errors about shapes that do not broadcast to {@link TorchError}. */
function withTorchErrors<R>(compute: () => R): R {
  try {
    return compute();
  } catch (error) {
    throw new TorchError((error as Error).message);
  }
}

export function map(x: TorchArray, f: (x: number) => number): TorchArray {
  return torchArray(x.shape, x.data.map(f));
}

/** Elementwise function of arrays that broadcast to one shape. */
export function zip(xs: readonly [TorchArray, TorchArray], f: (x: number, y: number) => number): TorchArray;
export function zip(
  xs: readonly [TorchArray, TorchArray, TorchArray],
  f: (x: number, y: number, z: number) => number,
): TorchArray;
export function zip(
  [first, second, third]: readonly [TorchArray, TorchArray, TorchArray?],
  f: (...values: number[]) => number,
): TorchArray {
  const shape = withTorchErrors(() =>
    [second, ...(third ? [third] : [])].reduce((result, x) => broadcastShapes(result, x.shape), first.shape),
  );
  const [x, y, z] = [expandTo(first, shape).data, expandTo(second, shape).data, third && expandTo(third, shape).data];
  return torchArray(shape, z ? x.map((value, i) => f(value, y[i]!, z[i]!)) : x.map((value, i) => f(value, y[i]!)));
}

export function total(lane: Float64Array): number {
  let sum = 0;
  for (const x of lane) sum += x;
  return sum;
}

/** Normalizes a negative axis. PyTorch also accepts axis 0 of a scalar. */
export function axisOf(axis: number, rank: number): number {
  const index = axis < 0 ? axis + Math.max(rank, 1) : axis;
  if (index >= 0 && index < Math.max(rank, 1)) return index;
  throw noAxis(axis, rank);
}

/** @throws TorchError if there is no such axis, for example in a scalar. */
export function sizeAt({ shape }: TorchArray, axis: number): number {
  const size = shape[axis];
  if (size === undefined) throw noAxis(axis, shape.length);
  return size;
}

const noAxis = (axis: number, rank: number): TorchError =>
  new TorchError(`there is no axis ${axis} of ${rank === 1 ? "one axis" : `${rank} axes`}`);

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
      axes.map((axis) => sizeAt(x, axis)),
      x.data,
    );
  return axes.every((axis, position) => axis === position) ? x : fromTile(permute(asTile(x), axes));
}

/** The same elements in another shape. One dim may be -1. */
export function reshapeTo(x: TorchArray, shape: readonly number[]): TorchArray {
  const knownSize = shape.reduce((product, dim) => (dim === -1 ? product : product * dim), 1);
  const fullShape = shape.map((dim) => (dim === -1 ? x.data.length / knownSize : dim));
  if (sizeOf(fullShape) !== x.data.length || !fullShape.every(Number.isInteger))
    throw new TorchError(`[${x.shape.join(", ")}] does not reshape to [${shape.join(", ")}]`);
  return torchArray(fullShape, x.data);
}

/** Reduces axes with `fold`, which gets the elements of one lane. No axes means all. */
export function reduceAxes(
  x: TorchArray,
  axes: readonly number[],
  keep: boolean,
  fold: (lane: Float64Array) => number,
): TorchArray {
  const rank = x.shape.length;
  const normalized = axes.map((axis) => axisOf(axis, rank));
  if (rank === 0) return scalarArray(fold(x.data));
  const reducedAxes = new Set(axes.length === 0 ? x.shape.keys() : normalized);
  const remainingAxes = x.shape.map((_, axis) => axis).filter((axis) => !reducedAxes.has(axis));
  const { data } = reorder(x, [...remainingAxes, ...reducedAxes]);
  const remainingShape = x.shape.filter((_, axis) => !reducedAxes.has(axis));
  const length = sizeOf(x.shape.filter((_, axis) => reducedAxes.has(axis)));
  const out = new Float64Array(sizeOf(remainingShape));
  for (let i = 0; i < out.length; i++) out[i] = fold(data.subarray(i * length, (i + 1) * length));
  return torchArray(keep ? x.shape.map((dim, axis) => (reducedAxes.has(axis) ? 1 : dim)) : remainingShape, out);
}

/** Replaces each lane along an axis by another lane, of the same length. */
export function mapLanes(x: TorchArray, axis: number, f: (lane: Float64Array) => Float64Array): TorchArray {
  const last = x.shape.length - 1;
  if (axisOf(axis, x.shape.length) > last) return torchArray([], f(x.data));
  const transposed = transpose(x, axis, last);
  const length = sizeAt(transposed, last);
  const out = new Float64Array(transposed.data.length);
  for (let start = 0; start < out.length; start += length)
    out.set(f(transposed.data.subarray(start, start + length)), start);
  return transpose(torchArray(transposed.shape, out), axis, last);
}

/** Elements by their row-major index. */
export function pick(x: TorchArray, shape: readonly number[], indices: ArrayLike<number>): TorchArray {
  return torchArray(
    shape,
    Float64Array.from(indices, (index) => x.data[index]!),
  );
}

export type TorchValue = TorchArray | number | boolean | string | null | undefined | readonly TorchValue[];

export type Args = Readonly<Record<string, TorchValue>>;

// Functions of one lane: the elements along an axis, or along all reduced axes.

export function largest(lane: Float64Array): number {
  let max = -Infinity;
  for (const x of lane) max = Math.max(max, x);
  return max;
}
export const smallest = (lane: Float64Array): number => lane.reduce((x, y) => Math.min(x, y), Infinity);
export const mean = (lane: Float64Array): number => total(lane) / lane.length;

/** `shift + log Σ exp(x - shift)`. A lane of -inf gives -inf. */
export function logSumExp(lane: Float64Array): number {
  const max = largest(lane);
  if (!Number.isFinite(max)) return max;
  return max + Math.log(lane.reduce((sum, x) => sum + Math.exp(x - max), 0));
}

export function softmax(lane: Float64Array): Float64Array {
  const max = largest(lane);
  const powers = lane.map((x) => Math.exp(x - max));
  const sum = total(powers);
  return powers.map((power) => power / sum);
}

/** The logarithm of the softmax. */
export function logSoftmax(lane: Float64Array): Float64Array {
  const norm = logSumExp(lane);
  return lane.map((x) => x - norm);
}

/** The sum of squared deviations from the mean, divided by the length minus `correction`. */
export function variance(lane: Float64Array, correction: number): number {
  const average = mean(lane);
  return lane.reduce((sum, x) => sum + (x - average) ** 2, 0) / Math.max(lane.length - correction, 0);
}

/** The p-norm: `(Σ |x|^p)^(1/p)`. */
export function norm(lane: Float64Array, p: number): number {
  if (p === Infinity) return largest(lane.map(Math.abs));
  return lane.reduce((sum, x) => sum + Math.abs(x) ** p, 0) ** (1 / p);
}
