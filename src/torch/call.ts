/** Evaluated arguments of torch functions, and helpers for defining functions. */
import { TorchError } from "./errors.js";
import { axisOf, map, mapLanes, reduceAxes, scalarArray, type TorchArray, zip, type TorchValue } from "./array.js";
import type { Facts, TorchFunction } from "./record.js";
import { type DTypeName, dtypeTable } from "../types/dtype.js";

export const isArray = (x: TorchValue): x is TorchArray => typeof x === "object" && x !== null && "data" in x;

/** A dtype argument is its name. */
export const isDTypeName = (x: TorchValue): x is DTypeName => typeof x === "string" && Object.hasOwn(dtypeTable, x);

export function array(x: TorchValue, name = "this argument"): TorchArray {
  if (isArray(x)) return x;
  if (typeof x === "number" || typeof x === "boolean") return scalarArray(Number(x));
  throw new TorchError(`${name} is no tensor`);
}

export function numbers(x: TorchValue): readonly number[] {
  if (x === undefined || x === null) return [];
  return (typeof x === "object" && !isArray(x) ? (x as readonly TorchValue[]).flat() : [x]).map(Number);
}

export const number = (x: TorchValue, fallback: number): number => (typeof x === "number" ? x : fallback);

export function arrays(x: TorchValue): readonly TorchArray[] {
  if (!Array.isArray(x)) throw new TorchError("a list of tensors is needed");
  return x.map((item) => array(item as TorchValue));
}

/** The normalized axis argument, or the default. */
export const axisOrDefault = (x: TorchValue, fallback: number, { shape }: TorchArray): number =>
  axisOf(number(x, fallback), shape.length);

/** @throws TorchError if a tensor does not have the shape that the call requires. */
export function sameShape(actual: readonly number[], expected: readonly number[]): void {
  if (actual.length !== expected.length || actual.some((size, axis) => size !== expected[axis]))
    throw new TorchError(`it needs shape [${expected.join(", ")}], not [${actual.join(", ")}]`);
}

/** Normalizes the axis of a function that inserts an axis. */
export const newAxis = (axis: number, { shape }: TorchArray): number => (axis < 0 ? axis + shape.length + 1 : axis);

/** A function of each element. */
export const elementwise = (f: (x: number) => number, facts?: Facts): TorchFunction => ({
  params: ["input"],
  run: ({ input }) => map(array(input), f),
  ...facts,
});
/** A function of the elements of two tensors that broadcast. */
export const pairwise = (f: (x: number, y: number) => number, facts?: Facts): TorchFunction => ({
  params: ["input", "other"],
  run: ({ input, other }) => zip([array(input), array(other)], f),
  ...facts,
});
/**
 * @throws TorchError if a reduced axis is empty, because PyTorch defines no maximum of zero elements. No axes means
 *   all.
 */
export function checkNotEmpty({ shape }: TorchArray, axes: readonly number[]): void {
  const foldedSizes = axes.length === 0 ? shape : axes.map((axis) => shape[axisOf(axis, shape.length)]);
  if (foldedSizes.includes(0)) throw new TorchError("an axis that it folds has no elements");
}

/** A reduction of one axis, of several, or of all. */
export const reduction = (fold: (lane: Float64Array) => number, facts?: Partial<TorchFunction>): TorchFunction => ({
  params: ["input", "dim", "keepdim", "dtype"],
  run: ({ input, dim, keepdim }) => {
    if (dim === undefined && keepdim !== undefined) throw new TorchError("keepdim needs dim");
    return reduceAxes(array(input), numbers(dim), keepdim === true, fold);
  },
  ...facts,
});
/** A function that replaces each lane along an axis by another of the same length. */
export const alongAxis = (f: (lane: Float64Array) => Float64Array, facts?: Facts): TorchFunction => ({
  params: ["input", "dim", "dtype"],
  required: ["dim"],
  run: ({ input, dim }) => mapLanes(array(input), Number(dim), f),
  ...facts,
});
