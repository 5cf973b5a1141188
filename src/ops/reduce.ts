/** Reductions over an axis, or over all. */
import { expandDims as expand, type TileArray, reshape } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import { reduce, reduceBig } from "../ir/array-reduce.js";
import { isBig } from "../ir/numeric.js";
import type { Checked } from "../ir/problem.js";
import {
  inferReduce,
  type MaxOf,
  type ReduceOut,
  reduceRules,
  type SumCall,
  type WhyMax,
  type WhyReduceAxis,
} from "../ir/signatures-reduce.js";
import type { Context, Runtime } from "../ir/runtime.js";
import type { Typed } from "../ir/op.js";
import { defineOp } from "./define.js";

const operands = { x: "value", axis: "constant?" } as const;
const options = { keepDims: "constant?" } as const;
type Typeds = Readonly<Record<string, Typed | undefined>>;

const axisOf = ({ axis }: Typeds) => axis?.literal as number | undefined;
const keepsDims = ({ keepDims }: Typeds) => keepDims?.literal === true;

type Fold = {
  readonly number: (a: number, b: number) => number;
  readonly big: (a: bigint, b: bigint) => bigint;
};

/** Folds in the dtype of the result, first lane to last; the GPU's order is its own, so floats may differ in rounding. */
function folding({ number, big }: Fold) {
  return ({ x, axis, keepDims }: Readonly<Record<string, Runtime | undefined>>, context: Context): TileArray => {
    const [result] = context.results;
    const tile = cast(x as TileArray, result!.dtype);
    const along = axis === undefined ? "all" : Number(axis) < 0 ? Number(axis) + tile.shape.length : Number(axis);
    const folded = isBig(tile.dtype) ? reduceBig(tile, along, big) : reduce(tile, along, number);
    if (keepDims !== true) return folded;
    return along === "all"
      ? reshape(
          folded,
          tile.shape.map(() => 1),
        )
      : expand(folded, along);
  };
}

/** The sum over an axis: `tl.sum(x, axis=0)`. int8 and int16 add up in int32. */
export const sum = defineOp<SumCall>({
  name: "sum",
  operands,
  options: { ...options, dtype: "dtype?" },
  effect: "pure",
  spelling: { form: "call", name: "tl.sum", keywords: ["axis"] },
  infer: (args) =>
    inferReduce(reduceRules.summing, "sum", args.x!.type, axisOf(args), keepsDims(args), args.dtype?.dtype),
  evaluate: folding({ number: (a, b) => a + b, big: (a, b) => a + b }),
  nonNegative: ([x]) => x === true,
});

type ExtremumCall<Name extends string> = <X, const Ax = undefined, const Keep = false>(
  x: Checked<X, WhyMax<Name, X>>,
  axis?: Checked<Ax, WhyReduceAxis<Name, X, Ax>>,
  options?: { keepDims?: Keep },
) => ReduceOut<X, MaxOf<X>, Ax, Keep>;

function extremum<Name extends "max" | "min">(name: Name, first: (a: number | bigint, b: number | bigint) => boolean) {
  const number = (a: number, b: number) => (Number.isNaN(a) ? b : Number.isNaN(b) || first(a, b) ? a : b);
  return defineOp<ExtremumCall<Name>>({
    name,
    operands,
    options,
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}`, keywords: ["axis"] },
    infer: (args) => inferReduce(reduceRules.comparing, name, args.x!.type, axisOf(args), keepsDims(args)),
    evaluate: folding({ number, big: (a, b) => (first(a, b) ? a : b) }),
    nonNegative: ([x]) => x === true,
  });
}

/** The largest element over an axis: `tl.max(x, axis=0)`. float16 and bfloat16 give float32. */
export const max = extremum("max", (a, b) => a > b);
/** The smallest element over an axis: `tl.min(x, axis=0)`. float16 and bfloat16 give float32. */
export const min = extremum("min", (a, b) => a < b);
