/** The arguments of torch's functions while they are evaluated, and functions that many records have in common. */
import { TorchError } from "./errors.js";
import { axisOf, map, mapLanes, reduceAxes, scalarArray, type TorchArray, zip } from "./array.js";
import type { Facts, TorchFunction } from "./record.js";
import { type DTypeName, dtypeTable } from "../types/dtype.js";

export type TorchValue = TorchArray | number | boolean | string | null | undefined | readonly TorchValue[];
export type Args = Readonly<Record<string, TorchValue>>;

export const isArray = (x: TorchValue): x is TorchArray => typeof x === "object" && x !== null && "data" in x;

/** A dtype comes by its name. */
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

export const number = (x: TorchValue, otherwise: number): number => (typeof x === "number" ? x : otherwise);

/** The tensors of a list. */
export function arrays(x: TorchValue): readonly TorchArray[] {
  if (!Array.isArray(x)) throw new TorchError("a list of tensors is needed");
  return x.map((item) => array(item as TorchValue));
}

/** The axis that is given, or the default, counted from the front. */
export const axisGiven = (x: TorchValue, otherwise: number, { shape }: TorchArray): number =>
  axisOf(number(x, otherwise), shape.length);

/** @throws TorchRefuses if a tensor has another shape than the call needs. */
export function sameShape(is: readonly number[], due: readonly number[]): void {
  if (is.length !== due.length || is.some((size, axis) => size !== due[axis]))
    throw new TorchError(`it needs shape [${due.join(", ")}], not [${is.join(", ")}]`);
}

/** The axis of a function where it is negative for a tensor with one axis more. */
export const newAxis = (axis: number, { shape }: TorchArray): number => (axis < 0 ? axis + shape.length + 1 : axis);

/** Each element by itself. */
export const elementwise = (f: (x: number) => number, facts?: Facts): TorchFunction => ({
  params: ["input"],
  run: ({ input }) => map(array(input), f),
  ...facts,
});
/** Each element of two tensors that broadcast. */
export const pairwise = (f: (x: number, y: number) => number, facts?: Facts): TorchFunction => ({
  params: ["input", "other"],
  run: ({ input, other }) => zip([array(input), array(other)], f),
  ...facts,
});
/** The greatest of no elements is nothing, as PyTorch sees it. No axes means all. */
export function ofSome({ shape }: TorchArray, axes: readonly number[]): void {
  const folded = axes.length === 0 ? shape : axes.map((axis) => shape[axisOf(axis, shape.length)]);
  if (folded.includes(0)) throw new TorchError("an axis that it folds has no elements");
}

/** A fold over one axis, over several, or over all. */
export const reduction = (fold: (lane: Float64Array) => number, facts?: Partial<TorchFunction>): TorchFunction => ({
  params: ["input", "dim", "keepdim", "dtype"],
  run: ({ input, dim, keepdim }) => {
    if (dim === undefined && keepdim !== undefined) throw new TorchError("keepdim needs dim");
    return reduceAxes(array(input), numbers(dim), keepdim === true, fold);
  },
  ...facts,
});
/** Each lane along an axis becomes another one of its length. */
export const alongAxis = (f: (lane: Float64Array) => Float64Array, facts?: Facts): TorchFunction => ({
  params: ["input", "dim", "dtype"],
  needs: ["dim"],
  run: ({ input, dim }) => mapLanes(array(input), Number(dim), f),
  ...facts,
});
