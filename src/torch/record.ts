/**
 * Definition of a torch function: its call forms and their types, its parameters, its evaluation in float64, and static
 * facts for the emitter and the evaluator.
 */
import {
  type TorchArray,
  type Args,
  axisOf,
  map,
  mapLanes,
  reduceAxes,
  scalarArray,
  zip,
  type TorchValue,
  TorchError,
} from "./array.js";
import { type DTypeName, dtypeTable } from "../types/dtype.js";
import type { TorchTensor } from "./values.js";

/** `torch.sum(x)`, `torch.nn.functional.gelu(x)` or `x.sum()`. */
export type CallForm = "torch" | "functional" | "method";

/** The part of a definition that is independent of the call form. */
export interface TorchFunction {
  /** Torch's parameter names, in order. */
  readonly params: readonly [string, ...string[]];
  /** The parameter that receives all further positional arguments, as a list. */
  readonly variadic?: string;
  /** Required parameters, in addition to the first. */
  readonly required?: readonly string[];
  /**
   * Evaluates the function in float64. `random` returns uniform numbers in [0, 1). `isTruth` is true for a parameter
   * with boolean elements, which are numbers here.
   */
  run(
    args: Args,
    random: () => number,
    isTruth: (param: string) => boolean,
  ): TorchArray | number | readonly TorchArray[];
  /**
   * Condition under which the (first) result is boolean: always, or if all these parameters are. Omitted if it never
   * is.
   */
  readonly truth?: "always" | readonly string[];
  /**
   * The parameters whose integers determine the result's dtype: the promoted dtype, or int64 if `isWidening` is set.
   */
  readonly integers?: readonly string[];
  readonly isWidening?: true;
  /** True if the result may share the memory of the first parameter. */
  readonly isView?: true;
  /** A list parameter. If it has one tensor, the result may share its memory. */
  readonly viewedList?: string;
  /** True if the function creates a tensor without a tensor operand, so that Python must specify a device. */
  readonly isFactory?: true;
  /** True if the result is uninitialized. */
  readonly isUninitialized?: true;
  /** True for a random function. Only `inputs` may call it. */
  readonly isRandom?: true;
  /** The dtype to which the first parameter is cast. */
  readonly castDType?: DTypeName;
  /** The parameter with the dtype to which the first parameter is cast. */
  readonly dtypeParam?: string;
  /** True if the result is a Python number. */
  readonly isPythonNumber?: true;
}

type Facts = Pick<TorchFunction, "truth" | "isView" | "integers" | "isWidening">;

/** A function with its call forms. `Types` contains its type in each of them. */
export interface TorchRecord<Types> extends TorchFunction {
  readonly places: readonly CallForm[];
  /** Never set. It carries the types. */
  readonly types?: Types;
}

/** The method's type: the function's type without the first parameter. */
type Method<F> = F extends (input: any, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;

// Interfaces, because their members are resolved lazily: tensors have these methods, and the methods take tensors.
export interface Both<F> {
  torch: F;
  method: Method<F>;
}
export interface Everywhere<F, N> extends Both<F> {
  functional: N;
}

type TypesOf<UntypedRecord> = UntypedRecord extends TorchRecord<infer Types> ? Types : never;

type NamesAt<At extends CallForm, Table> = {
  [Name in keyof Table]: At extends keyof TypesOf<Table[Name]> ? Name : never;
}[keyof Table];

/** The functions of a table that are available in a call form, each with its type in it. */
export type FunctionsAt<At extends CallForm, Table> = Picked<At, Table, NamesAt<At, Table>>;

// Without an `as` clause, so that editors show the comments on the table's properties.
type Picked<At extends CallForm, Table, Names extends keyof Table> = {
  readonly [Name in Names]: TypesOf<Table[Name]>[At & keyof TypesOf<Table[Name]>];
};

/** A function in `torch` that is also a method. */
export const both = <F>(f: TorchFunction): TorchRecord<Both<F>> => ({ ...f, places: ["torch", "method"] });

/** An overloaded function in `torch` that is also a method, whose type must be explicit. */
export const overloaded = <F, M>(f: TorchFunction): TorchRecord<{ torch: F; method: M }> => ({
  ...f,
  places: ["torch", "method"],
});

/** A function in `torch` only. */
export const inTorch = <F>(f: TorchFunction): TorchRecord<{ torch: F }> => ({ ...f, places: ["torch"] });

/** A method only. */
export const method = <M>(f: TorchFunction): TorchRecord<{ method: M }> => ({ ...f, places: ["method"] });

/** A function in `torch.nn.functional` only. */
export const functional = <N>(f: TorchFunction): TorchRecord<{ functional: N }> => ({ ...f, places: ["functional"] });

/** A function in `torch`, in `torch.nn.functional` with type `N`, and as a method. */
export const everywhere = <F, N = F>(f: TorchFunction): TorchRecord<Everywhere<F, N>> => ({
  ...f,
  places: ["torch", "functional", "method"],
});

/** The type of most elementwise functions. */
export type Unary = (input: TorchTensor) => TorchTensor;

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
