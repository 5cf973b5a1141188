/** Scans, sorts, histograms and softmax. */
import type { Typed } from "../types/types.js";
import { fromNumbers, type TileArray, broadcastTo, expandDims, cast } from "../numerics/array.js";
import { scan, scanBig, bitonicMerge as mergeArray, sortLast, topLast, reduce } from "../numerics/array-reduce.js";
import { atAxis, checkedAxis, type WhyAxis, axisOf } from "../types/dims.js";
import { sumElement } from "../types/casts.js";
import type { WhyDim } from "../types/constexpr.js";
import { members, sameElem, type DTypeName } from "../types/dtype.js";
import {
  losesComparison,
  type NumberClasses,
  ONE,
  multiplyClasses,
  addClasses,
  ZERO,
  LOWEST,
  NAN,
  POSITIVE,
} from "../symbolic/number-class.js";
import { isBig, isFloat } from "../numerics/numeric-int.js";
import type { Validate } from "../types/rule-error.js";
import type { Context } from "../values/runtime-values.js";
import { type HistogramOut, inferHistogram, type WhyHistogram, type WhyHistogramMask } from "../rules/create-rules.js";
import { type Plain, whyCond } from "../rules/math-rules.js";
import {
  axisNumber,
  inferScan,
  reduceRules,
  type SumOf,
  type WhySum,
  type WhyNormalize,
  inferSort,
  inferTop,
  type TopOut,
  type WhySort,
  type WhySortDim,
  type WhyTop,
} from "../rules/reduce-rules.js";
import type { Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { isTile, isFirstNonNegative, castIn } from "../values/operands.js";
import type { OpFold, RuntimeArguments } from "../ir/op.js";
import { map1, map2 } from "../numerics/array-map.js";

type ScanOut<X, D> = X extends TileLike ? Tile<SumOf<X, D>, X[Sh]> : Tile<any, any>;
type WhyScanAxis<Op extends string, X, Ax> = X extends TileLike ? WhyAxis<Op, X[Sh], Ax> : "";

interface ScanOptions<D> {
  /** Scans from the last element to the first. */
  reverse?: boolean;
  /** The dtype to which the elements are cast before the scan. */
  dtype?: D;
}
interface SortOptions {
  /** Sorts the largest element first. */
  descending?: boolean;
}

declare module "../types/tile.js" {
  interface TileOps {
    /** Inclusive prefix sums along an axis: `tl.cumsum(x, axis=0)`. */
    cumsum<T extends TileLike, const Ax = 0, D = undefined>(
      this: Validate<T, WhySum<"cumsum", T, D>>,
      axis?: Validate<Ax, WhyScanAxis<"cumsum", T, Ax>>,
      options?: ScanOptions<D>,
    ): ScanOut<T, D>;
    /** Inclusive prefix products along an axis: `tl.cumprod(x, axis=0)`. */
    cumprod<T extends TileLike, const Ax = 0, D = undefined>(
      this: Validate<T, WhySum<"cumprod", T, D>>,
      axis?: Validate<Ax, WhyScanAxis<"cumprod", T, Ax>>,
      options?: ScanOptions<D>,
    ): ScanOut<T, D>;
    /** The number of occurrences of each of 0, 1, …, bins - 1: `tl.histogram(x, 64)`. */
    histogram<T extends TileLike, const B, M = undefined>(
      this: Validate<T, WhyHistogram<T>>,
      numBins: Validate<B, WhyDim<"histogram", B>>,
      options?: { mask?: Validate<M, WhyHistogramMask<T, M>> },
    ): HistogramOut<B>;
  }
}

type ScanCall<Name extends string> = <X, const Ax = 0, D = undefined>(
  x: Validate<X, WhySum<Name, X, D>>,
  axis?: Validate<Ax, WhyScanAxis<Name, X, Ax>>,
  options?: ScanOptions<D>,
) => ScanOut<X, D>;

function defineScan<Name extends "cumsum" | "cumprod">(
  name: Name,
  fold: Readonly<Record<"float" | "int", (a: number, b: number) => number>> & {
    readonly big: (a: bigint, b: bigint) => bigint;
  },
) {
  const hasNewDType = ({ dtype }: { readonly dtype: Typed | undefined }) => name === "cumprod" && dtype !== undefined;
  return defineOp<ScanCall<Name>>()({
    name,
    operands: { x: "tile", axis: "constant?" },
    options: { reverse: "constant?", dtype: "dtype?" },
    method: true,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}`, keywords: ["axis"] },
    infer: ({ x, axis, dtype }) => inferScan(reduceRules.summing, name, x.type, axisNumber(axis) ?? 0, dtype?.dtype),
    evaluate: ({ x, axis = 0, reverse }, context) => {
      const tile = castIn(context, x, context.result.dtype);
      const axisIndex = checkedAxis(tile.shape.length, Number(axis));
      const options = { reverse: reverse === true };
      if (isBig(tile.dtype)) return scanBig(tile, axisIndex, fold.big, options);
      return scan(tile, axisIndex, isFloat(tile.dtype) ? fold.float : fold.int, options);
    },
    facts: { rounds: true, nonNegative: isFirstNonNegative },
    proof: {
      wraps: true,
      foldSemantics:
        name === "cumsum"
          ? { form: "scan", combineClasses: addClasses, adds: true }
          : { form: "scan", combineClasses: multiplyClasses },
      isNeutral: (classes) => classes === (name === "cumsum" ? ZERO : ONE),
    },
    triton36: {
      // 3.6 widens bfloat16 here.
      result: ({ x, dtype }) =>
        dtype === undefined && x.type.kind === "tile" && members(x.type.dtype).includes("bfloat16")
          ? "float32"
          : undefined,
      // 3.6 does not widen small integers.
      operands: (args) => {
        if (name !== "cumprod" || hasNewDType(args) || args.x.type.kind !== "tile") return undefined;
        const wide = sumElement(args.x.type.dtype);
        return wide && !sameElem(wide, args.x.type.dtype) ? wide : undefined;
      },
    },
    needs: { needsTriton39: name === "cumprod" ? hasNewDType : undefined },
  });
}

/** Prefix sums along an axis: `tl.cumsum(x, axis=0)`. int8 and int16 accumulate in int32. */
export const cumsum = defineScan("cumsum", {
  float: (a, b) => a + b,
  int: (a, b) => a + b,
  big: (a, b) => a + b,
});
/**
 * Prefix products along an axis: `tl.cumprod(x, axis=0)`. int8 and int16 accumulate in int32. `dtype`
 * needs Triton 3.9.
 */
export const cumprod = defineScan("cumprod", { float: (a, b) => a * b, int: Math.imul, big: (a, b) => a * b });

const dimOf = ({ dim }: { readonly dim: Typed | undefined }) => axisNumber(dim);

/** The fold of a sort: every element of the result depends on the whole axis. */
const orderingFold: OpFold = { form: "normalization", combineClasses: (x) => x, axis: -1 };

/** True if a masked lane is sorted after all active lanes, which then keep their positions. */
const isLast =
  (isDescendingByDefault: boolean) =>
  (
    masked: NumberClasses,
    active: NumberClasses,
    _: boolean,
    args?: { readonly descending?: Typed | undefined },
  ): boolean =>
    losesComparison((args?.descending?.literal ?? isDescendingByDefault) === true)(masked, active);

type SortCall<Name extends string> = <X, const Ax extends number = number>(
  x: Validate<X, WhySort<Name, X>>,
  dim?: Validate<Ax, WhySortDim<Name, X, Ax>> | SortOptions,
  options?: SortOptions,
) => Plain<X>;

/** Sorts the last axis: `tl.sort(x)`, or `tl.sort(x, descending=True)`. A row with a NaN may lose elements. */
export const sort = defineOp<SortCall<"sort">>()({
  name: "sort",
  operands: { x: "tile", dim: "constant?" },
  options: { descending: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.sort", keywords: ["dim"] },
  infer: (args) => inferSort("sort", args.x.type, dimOf(args)),
  evaluate: ({ x, descending }) => sortLast(x, descending === true),
  facts: { nonNegative: isFirstNonNegative },
  proof: { foldSemantics: orderingFold, isNeutral: isLast(false) },
});

/** The last step of a bitonic sort, for a last axis that ascends and then descends: `tl.bitonic_merge(x)`. */
export const bitonicMerge = defineOp<SortCall<"bitonicMerge">>()({
  name: "bitonicMerge",
  operands: { x: "tile", dim: "constant?" },
  options: { descending: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.bitonic_merge", keywords: ["dim"] },
  infer: (args) => inferSort("bitonicMerge", args.x.type, dimOf(args)),
  evaluate: ({ x, descending }) => mergeArray(x, descending === true),
  facts: { nonNegative: isFirstNonNegative },
  proof: { foldSemantics: orderingFold, isNeutral: isLast(false) },
});

/**
 * The `k` largest elements of the last axis, sorted: `tl.topk(x, 8)`. `descending: false` returns the smallest elements
 * and needs Triton 3.9, as does a `k` of 1. A row with a NaN may lose elements.
 */
export const topk = defineOp<
  <X, const K, const Ax extends number = number>(
    x: Validate<X, WhySort<"topk", X>>,
    k: Validate<K, WhyTop<X, K>>,
    dim?: Validate<Ax, WhySortDim<"topk", X, Ax>>,
    options?: SortOptions,
  ) => TopOut<X, K>
>()({
  name: "topk",
  operands: { x: "tile", k: "constant", dim: "constant?" },
  options: { descending: "constant?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.topk", keywords: ["dim"] },
  infer: (args) => inferTop(args.x.type, args.k.type, dimOf(args)),
  evaluate: ({ x, descending = true }, { result: { dtype, shape } }) =>
    topLast(cast(x, dtype), atAxis(shape, shape.length - 1), descending === true),
  facts: { nonNegative: isFirstNonNegative },
  proof: { foldSemantics: orderingFold, isNeutral: isLast(true) },
  needs: { needsTriton39: ({ k, descending }) => descending !== undefined || k.literal === 1 },
});

const histogramOperands = { x: "tile", numBins: "constant" } as const;
const histogramOptions = { mask: "mask?" } as const;

/** Counts the occurrences of 0, 1, …, `numBins` - 1 and ignores other elements: `tl.histogram(x, 64)`. */
export const histogram = defineOp<
  <X, const B, M = undefined>(
    x: Validate<X, WhyHistogram<X>>,
    numBins: Validate<B, WhyDim<"histogram", B>>,
    options?: { mask?: Validate<M, WhyHistogramMask<X, M>> },
  ) => HistogramOut<B>
>()({
  name: "histogram",
  operands: histogramOperands,
  options: histogramOptions,
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.histogram" },
  infer: ({ x, numBins, mask }) =>
    (mask && whyCond("histogram", mask.type)) || inferHistogram(x.type, numBins.type, mask?.type),
  evaluate: countBins,
  facts: { nonNegative: () => true },
  proof: { foldSemantics: { form: "reduction", combineClasses: undefined, mask: "mask" } },
});

function countBins(
  { x, mask }: RuntimeArguments<typeof histogramOperands & typeof histogramOptions>,
  { result }: Context,
): TileArray {
  const tile = x;
  const bins = new Int32Array(atAxis(result.shape, 0));
  let isPoison = false;
  tile.data.forEach((value: number | bigint, i: number) => {
    if (isTile(mask) && !mask.data[mask.data.length === 1 ? 0 : i]) return;
    isPoison ||= tile.poison?.[i] === 1;
    const bin = Number(value);
    const count = bins[bin];
    if (count !== undefined) bins[bin] = count + 1;
  });
  const counts = fromNumbers("int32", result.shape, bins);
  return isPoison ? { ...counts, poison: new Uint8Array(bins.length).fill(1) } : counts;
}

// `tl.softmax`.

type WhySoftmaxAxis<X, Ax> = X extends TileLike ? WhyAxis<"softmax", X[Sh], Ax> : "";
interface SoftmaxOptions {
  /** Rounds the division correctly. */
  ieeeRounding?: boolean;
}

declare module "../types/tile.js" {
  interface TileOps {
    /** `exp(x)` divided by its sum along an axis, by default the first: `tl.softmax(x, 0)`. */
    softmax<T extends TileLike, const Ax = 0>(
      this: Validate<T, WhyNormalize<"softmax", T>>,
      dim?: Validate<Ax, WhySoftmaxAxis<T, Ax>>,
      options?: SoftmaxOptions,
    ): Plain<T>;
  }
}

/**
 * `exp(x)` divided by its sum along an axis, by default the first: `tl.softmax(x, 0)`. Any other axis needs Triton 3.9.
 */
export const softmax = defineOp<
  <X, const Ax = 0>(
    x: Validate<X, WhyNormalize<"softmax", X>>,
    dim?: Validate<Ax, WhySoftmaxAxis<X, Ax>>,
    options?: SoftmaxOptions,
  ) => Plain<X>
>()({
  name: "softmax",
  operands: { x: "tile", dim: "constant?" },
  options: { ieeeRounding: "constant?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.softmax" },
  infer: ({ x, dim }) => inferScan(reduceRules.normalizing, "softmax", x.type, axisNumber(dim) ?? 0),
  evaluate: ({ x, dim = 0 }) => {
    const tile = x;
    const dtype = tile.dtype as DTypeName;
    const axis = checkedAxis(tile.shape.length, Number(dim));
    const foldAndBroadcast = (fold: (a: number, b: number) => number, source: TileArray) =>
      broadcastTo(expandDims(reduce(source, axis, fold), axis), tile.shape);
    const shifted = map2(tile, foldAndBroadcast(Math.max, tile), dtype, (a, b) => a - b);
    const powers = map1(shifted, dtype, Math.exp);
    return map2(
      powers,
      foldAndBroadcast((a, b) => a + b, powers),
      dtype,
      (a, b) => a / b,
    );
  },
  facts: { nonNegative: () => true },
  proof: {
    foldSemantics: {
      form: "normalization",
      combineClasses: (x) => {
        if (x === LOWEST) return ZERO;
        return x === NAN ? NAN : POSITIVE;
      },
    },
    isNeutral: (classes) => classes === LOWEST,
  },
  needs: {
    needsTriton39: ({ x, dim }) => {
      const rank = x.type.kind === "tile" ? x.type.shape.length : 1;
      return rank > 1 && axisOf(rank, Number(dim?.literal ?? 0)) !== 0;
    },
  },
});
