/** Reductions over one axis or all axes. */
import { indexBesideNaN } from "../diagnostics/catalog/finding-codes.js";
import { expandDims as expand, type TileArray, reshape, tileArray } from "../numerics/array.js";
import { indexOfFirst, reduce, reduceBig } from "../numerics/array-reduce.js";
import {
  losesComparison,
  type NumberClasses,
  maxClasses,
  minClasses,
  addClasses,
  ZERO,
  orClasses,
} from "../symbolic/number-class.js";
import { atAxis, checkedAxis } from "../types/dims.js";
import { isBig, isFloat, type NumberData } from "../numerics/numeric-int.js";
import type { Validate } from "../types/rule-error.js";
import {
  axisNumber,
  inferReduce,
  inferReduceIndexed,
  type ExtremumOut,
  type ReduceOut,
  reduceRules,
  type SumCall,
  type SumOf,
  type WhyCombine,
  type WhyExtremum,
  type WhyIndexed,
  type WhyReduceAxis,
  type WhySum,
} from "../rules/reduce-rules.js";
import { members } from "../types/dtype.js";
import type { ElementIn } from "../rules/math-rules.js";
import type { TileLike } from "../types/tile.js";
import type { Context, Runtime } from "../values/runtime-values.js";
import { defineOp } from "./define.js";
import { isFirstNonNegative, castIn, markPoison } from "../values/operands.js";
import type { TypedArguments, RuntimeArguments } from "../ir/op.js";

interface KeepDims<Keep> {
  /** Keeps the reduced axis, with size 1. */
  keepDims?: Keep;
}
interface Ties {
  /** True if the first of several equal elements is selected, false for any of them. */
  tieBreakLeft?: boolean;
}
interface Indices<Ret> {
  /** Also returns the index of the element. */
  returnIndices?: Ret;
  /** True if the first of several equal elements is selected, false for any of them. */
  returnIndicesTieBreakLeft?: boolean;
}

declare module "../types/tile.js" {
  interface TileOps {
    /** The sum over an axis: `tl.sum(x, axis=0)`. */
    sum<T extends TileLike, const Ax = undefined, const Keep = false, D = undefined>(
      this: Validate<T, WhySum<"sum", T, D>>,
      axis?: Validate<Ax, WhyReduceAxis<"sum", T, Ax>>,
      options?: KeepDims<Keep> & { dtype?: D },
    ): ReduceOut<T, SumOf<T, D>, Ax, Keep>;
    /** The largest element over an axis: `tl.max(x, axis=0)`. */
    max<T extends TileLike, const Ax = undefined, const Keep = false, const Ret = false>(
      this: Validate<T, WhyExtremum<"max", T, Ret>>,
      axis?: Validate<Ax, WhyReduceAxis<"max", T, Ax>>,
      options?: KeepDims<Keep> & Indices<Ret>,
    ): ExtremumOut<T, Ax, Keep, Ret>;
    /** The smallest element over an axis: `tl.min(x, axis=0)`. */
    min<T extends TileLike, const Ax = undefined, const Keep = false, const Ret = false>(
      this: Validate<T, WhyExtremum<"min", T, Ret>>,
      axis?: Validate<Ax, WhyReduceAxis<"min", T, Ax>>,
      options?: KeepDims<Keep> & Indices<Ret>,
    ): ExtremumOut<T, Ax, Keep, Ret>;
    /** The index of the largest element along an axis: `tl.argmax(x, axis=0)`. */
    argmax<T extends TileLike, const Ax, const Keep = false>(
      this: Validate<T, WhyIndexed<"argmax", T>>,
      axis: Validate<Ax, WhyReduceAxis<"argmax", T, Ax>>,
      options?: KeepDims<Keep> & Ties,
    ): ReduceOut<T, "int32", Ax, Keep>;
    /** The index of the smallest element along an axis: `tl.argmin(x, axis=0)`. */
    argmin<T extends TileLike, const Ax, const Keep = false>(
      this: Validate<T, WhyIndexed<"argmin", T>>,
      axis: Validate<Ax, WhyReduceAxis<"argmin", T, Ax>>,
      options?: KeepDims<Keep> & Ties,
    ): ReduceOut<T, "int32", Ax, Keep>;
    /** Exclusive or over an axis: `tl.xor_sum(x, axis=0)`. */
    xorSum<T extends TileLike, const Ax = undefined, const Keep = false>(
      this: Validate<T, WhyCombine<"xorSum", T>>,
      axis?: Validate<Ax, WhyReduceAxis<"xorSum", T, Ax>>,
      options?: KeepDims<Keep>,
    ): ReduceOut<T, ElementIn<T>, Ax, Keep>;
    /** Bitwise or over an axis: `tl.reduce_or(x, axis=0)`. */
    reduceOr<T extends TileLike, const Ax, const Keep = false>(
      this: Validate<T, WhyCombine<"reduceOr", T>>,
      axis: Validate<Ax, WhyReduceAxis<"reduceOr", T, Ax>>,
      options?: KeepDims<Keep>,
    ): ReduceOut<T, ElementIn<T>, Ax, Keep>;
  }
}

const operands = { x: "tile", axis: "constant?" } as const;
const options = { keepDims: "constant?" } as const;
type Args = RuntimeArguments<typeof operands & typeof options>;
type TypedArgs = TypedArguments<typeof operands & typeof options>;

const axisOf = ({ axis }: Pick<TypedArgs, "axis">) => axisNumber(axis);
const hasKeepDims = ({ keepDims }: Pick<TypedArgs, "keepDims">) => keepDims?.literal === true;

type Fold = {
  readonly number: (a: number, b: number) => number;
  readonly big: (a: bigint, b: bigint) => bigint;
};

/**
 * Folds in the dtype of the result, from the first lane to the last. A GPU may use another order and round differently.
 */
function evaluateFold(fold: Fold) {
  return (args: Args, context: Context): TileArray =>
    foldTile(args, castIn(context, args.x, context.result.dtype), fold);
}

function resolveAxis(axis: Runtime | undefined, tile: TileArray): number | "all" {
  return axis === undefined ? "all" : checkedAxis(tile.shape.length, Number(axis));
}

function foldTile({ axis, keepDims }: Args, tile: TileArray, { number, big }: Fold): TileArray {
  const reducedAxis = resolveAxis(axis, tile);
  return restoreDims(
    isBig(tile.dtype) ? reduceBig(tile, reducedAxis, big) : reduce(tile, reducedAxis, number),
    tile,
    reducedAxis,
    keepDims,
  );
}

function restoreDims(
  reduced: TileArray,
  source: TileArray,
  axis: number | "all",
  keepDims: Runtime | undefined,
): TileArray {
  if (keepDims !== true) return reduced;
  return axis === "all"
    ? reshape(
        reduced,
        source.shape.map(() => 1),
      )
    : expand(reduced, axis);
}

/** The sum over an axis: `tl.sum(x, axis=0)`. int8 and int16 accumulate in int32, unless `dtype` is set. */
export const sum = defineOp<SumCall>()({
  name: "sum",
  operands,
  options: { ...options, dtype: "dtype?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.sum", keywords: ["axis"] },
  infer: (args) =>
    inferReduce(reduceRules.summing, "sum", args.x.type, axisOf(args), hasKeepDims(args), args.dtype?.dtype),
  evaluate: evaluateFold({ number: (a, b) => a + b, big: (a, b) => a + b }),
  facts: { rounds: true, nonNegative: isFirstNonNegative },
  proof: {
    wraps: true,
    foldSemantics: { form: "reduction", combineClasses: addClasses, adds: true },
    isNeutral: (classes) => classes === ZERO,
  },
});

/** The proof rules of xor and or: 0 is their neutral element. */
const bitwiseProof = {
  foldSemantics: {
    form: "reduction",
    combineClasses: orClasses,
  },
  isNeutral: (classes: NumberClasses) => classes === ZERO,
} as const;

type Precedes = (a: number | bigint, b: number | bigint) => boolean;

type ExtremumCall<Name extends string> = <X, const Ax = undefined, const Keep = false, const Ret = false>(
  x: Validate<X, WhyExtremum<Name, X, Ret>>,
  axis?: Validate<Ax, WhyReduceAxis<Name, X, Ax>>,
  options?: KeepDims<Keep> & Indices<Ret>,
) => ExtremumOut<X, Ax, Keep, Ret>;

function extremum<Name extends "max" | "min">(name: Name, precedes: Precedes) {
  const number = (a: number, b: number) => {
    if (Number.isNaN(a)) return b;
    return Number.isNaN(b) || precedes(a, b) ? a : b;
  };
  const fold = evaluateFold({ number, big: (a, b) => (precedes(a, b) ? a : b) });
  return defineOp<ExtremumCall<Name>>()({
    name,
    operands,
    options: { ...options, returnIndices: "constant?", returnIndicesTieBreakLeft: "constant?" },
    method: true,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}`, keywords: ["axis"] },
    infer: (args) =>
      args.returnIndices?.literal === true
        ? inferReduceIndexed(name, args.x.type, axisOf(args), hasKeepDims(args))
        : inferReduce(reduceRules.comparing, name, args.x.type, axisOf(args), hasKeepDims(args)),
    evaluate: (args, context) => (context.results.length === 2 ? withIndex(name, args, context) : fold(args, context)),
    facts: { nonNegative: isFirstNonNegative },
    proof: {
      foldSemantics: { form: "reduction", combineClasses: name === "max" ? maxClasses : minClasses },
      isNeutral: losesComparison(name === "max"),
    },
    triton36: {
      // 3.6 widens bfloat16 if indices are returned.
      result: ({ x, returnIndices }) =>
        returnIndices?.literal === true && x.type.kind === "tile" && members(x.type.dtype).includes("bfloat16")
          ? "float32"
          : undefined,
    },
  });
}

const greater: Precedes = (a, b) => a > b;
const less: Precedes = (a, b) => a < b;

/**
 * The extremum and its index. The first of several equal elements is selected, which is also a valid choice if any may
 * be. With a NaN, both results are poison: every comparison with it is false, so they depend on the order of the
 * comparisons, and thus on the layout.
 */
function withIndex(
  name: "max" | "min" | "argmax" | "argmin",
  args: Args,
  context: Context,
): readonly [TileArray, TileArray] {
  const { x, axis, keepDims } = args;
  const isMax = name === "max" || name === "argmax";
  const reducedAxis = resolveAxis(axis, x);
  const nanLanes = lanesWithNaN(x, reducedAxis);
  const finish = (reduced: TileArray): TileArray =>
    restoreDims(
      markPoison(reduced, nanLanes, context, () => indexBesideNaN(name, isMax ? "-Infinity" : "Infinity")),
      x,
      reducedAxis,
      keepDims,
    );
  const [value, index] = indexOfFirst(x, reducedAxis, isMax ? greater : less);
  return [finish(value), finish(index)];
}

/** The lanes of the result whose operands include a NaN. Undefined if there are none, or the axis has one element. */
function lanesWithNaN(x: TileArray, axis: number | "all"): Uint8Array | undefined {
  const length = axis === "all" ? x.data.length : atAxis(x.shape, axis);
  if (!isFloat(x.dtype) || length === 1 || !(x.data as NumberData).some(Number.isNaN)) return undefined;
  const isNaN = Uint8Array.from(x.data as NumberData, (value, i) => (value !== value && !x.poison?.[i] ? 1 : 0));
  const lanes = reduce(tileArray("int1", x.shape, isNaN), axis, (a, b) => a | b).data as Uint8Array;
  return lanes.includes(1) ? lanes : undefined;
}

/**
 * The largest element over an axis: `tl.max(x, axis=0)`. The result for float16 and bfloat16 is float32, unless indices
 * are returned.
 */
export const max = extremum("max", greater);
/**
 * The smallest element over an axis: `tl.min(x, axis=0)`. The result for float16 and bfloat16 is float32, unless
 * indices are returned.
 */
export const min = extremum("min", less);

type IndexCall<Name extends string> = <X, const Ax, const Keep = false>(
  x: Validate<X, WhyIndexed<Name, X>>,
  axis: Validate<Ax, WhyReduceAxis<Name, X, Ax>>,
  options?: KeepDims<Keep> & Ties,
) => ReduceOut<X, "int32", Ax, Keep>;

function index<Name extends "argmax" | "argmin">(name: Name) {
  return defineOp<IndexCall<Name>>()({
    name,
    operands: { x: "tile", axis: "constant" },
    options: { ...options, tieBreakLeft: "constant?" },
    method: true,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}`, keywords: ["axis"] },
    infer: (args) => inferReduce(reduceRules.indexing, name, args.x.type, axisOf(args), hasKeepDims(args)),
    evaluate: (args, context) => withIndex(name, args, context)[1],
    facts: { nonNegative: () => true },
    proof: {
      foldSemantics: { form: "reduction", combineClasses: undefined },
      isNeutral: losesComparison(name === "argmax"),
    },
  });
}

/**
 * The index of the largest element along an axis: `tl.argmax(x, axis=0)`. With NaN elements, the result depends on
 * Triton's order of comparisons.
 */
export const argmax = index("argmax");
/**
 * The index of the smallest element along an axis: `tl.argmin(x, axis=0)`. With NaN elements, the result depends on
 * Triton's order of comparisons.
 */
export const argmin = index("argmin");

/** Exclusive or over one axis or all axes: `tl.xor_sum(x, axis=0)`. */
export const xorSum = defineOp<
  <X, const Ax = undefined, const Keep = false>(
    x: Validate<X, WhyCombine<"xorSum", X>>,
    axis?: Validate<Ax, WhyReduceAxis<"xorSum", X, Ax>>,
    options?: KeepDims<Keep>,
  ) => ReduceOut<X, ElementIn<X>, Ax, Keep>
>()({
  name: "xorSum",
  operands,
  options,
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.xor_sum", keywords: ["axis"] },
  infer: (args) => inferReduce(reduceRules.combining, "xorSum", args.x.type, axisOf(args), hasKeepDims(args)),
  evaluate: evaluateFold({ number: (a, b) => a ^ b, big: (a, b) => a ^ b }),
  facts: { nonNegative: isFirstNonNegative },
  proof: bitwiseProof,
});

/** Bitwise or over an axis: `tl.reduce_or(x, axis=0)`. */
export const reduceOr = defineOp<
  <X, const Ax, const Keep = false>(
    x: Validate<X, WhyCombine<"reduceOr", X>>,
    axis: Validate<Ax, WhyReduceAxis<"reduceOr", X, Ax>>,
    options?: KeepDims<Keep>,
  ) => ReduceOut<X, ElementIn<X>, Ax, Keep>
>()({
  name: "reduceOr",
  operands: { x: "tile", axis: "constant" },
  options,
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.reduce_or", keywords: ["axis"] },
  infer: (args) => inferReduce(reduceRules.combining, "reduceOr", args.x.type, axisOf(args), hasKeepDims(args)),
  evaluate: evaluateFold({ number: (a, b) => a | b, big: (a, b) => a | b }),
  facts: { nonNegative: isFirstNonNegative },
  proof: bitwiseProof,
});
