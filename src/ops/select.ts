/** `tl.where`, `tl.choose`, minimum and maximum. */
import { losesComparison, maxClasses, NAN, minClasses } from "../symbolic/number-class.js";
import { asInteger, asTruth, iteTerm, maxTerm, type Term } from "../symbolic/term.js";
import { select } from "../numerics/array-map.js";
import { toExact } from "../numerics/numeric-int.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import {
  inferPair,
  inferWhere,
  type PairOut,
  type WhereOut,
  type WhyCond,
  type WhyPairFirst,
  type WhyPairSecond,
  type WhyWhereFirst,
  type WhyWhereSecond,
} from "../rules/math-rules.js";
import { type DTypeName, members, sameElem } from "../types/dtype.js";
import { tileType, type Type } from "../types/types.js";
import { defineOp } from "./define.js";
import { type TileArray, cast } from "../numerics/array.js";
import type { Runtime, Constant } from "../values/runtime-values.js";
import { binary, promoteOperands, isTile, tileOf } from "../values/operands.js";
import { Message } from "../diagnostics/message.js";
import {
  type Chosen,
  type ConstBool,
  inferChosen,
  type TextOf,
  type WhyChosen,
  type WhyChosenToo,
} from "../types/constexpr.js";

type Pair<Name extends string, Python extends string> = <const X, const Y>(
  x: Validate<X, WhyPairFirst<Name, X>>,
  y: Validate<Y, WhyPairSecond<Name, X, Y>>,
  options?: { propagateNan?: "none" | "all" },
) => PairOut<Python, X, Y>;

/** Triton's constants for `propagateNan`. */
export const propagation = {
  propagateNan: { none: "tl.PropagateNan.NONE", all: "tl.PropagateNan.ALL" },
} as const;

function minOfNumbers(x: number, y: number): number {
  if (Number.isNaN(x)) return y;
  return Number.isNaN(y) || x < y ? x : y;
}

function maxOfNumbers(x: number, y: number): number {
  if (Number.isNaN(x)) return y;
  return Number.isNaN(y) || x > y ? x : y;
}

/** The smaller and the larger of two numbers. A NaN operand is ignored, unless NaN propagates. */
export const extremes = {
  min: (shouldPropagateNaN: boolean) => (shouldPropagateNaN ? Math.min : minOfNumbers),
  max: (shouldPropagateNaN: boolean) => (shouldPropagateNaN ? Math.max : maxOfNumbers),
  bigMin: (x: bigint, y: bigint) => (x < y ? x : y),
  bigMax: (x: bigint, y: bigint) => (x > y ? x : y),
};

function extremum<Name extends "minimum" | "maximum", Python extends "min" | "max">(
  name: Name,
  python: Python,
  nonNegative: (signs: readonly boolean[]) => boolean,
) {
  const extreme = python === "min" ? minClasses : maxClasses;
  const big = python === "min" ? extremes.bigMin : extremes.bigMax;
  return defineOp<Pair<Name, Python>>()({
    name,
    operands: { x: "value", y: "value" },
    options: { propagateNan: "constant?" },
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}`, symbols: propagation, host: { form: "call", name: python } },
    infer: ({ x, y }) => inferPair(name, x.type, y.type, python),
    fold: (x, y) => {
      const [a, b] = [toExact(x), toExact(y)];
      if (typeof a !== "bigint" && typeof b !== "bigint") return Math[python](Number(a), Number(b));
      return a < b === (python === "min") ? a : b;
    },
    evaluate: (args, context) =>
      binary({ float: extremes[python](args.propagateNan === "all"), int: extremes[python](false), big })(
        args,
        context,
      ),
    facts: {
      nonNegative,
      positive: nonNegative,
      powerOfTwo: (powers) => powers.every(Boolean),
      ...(python === "min" && { integer: "least" as const }),
    },
    proof: {
      ...(python === "max" && {
        term: ({ x, y }: { readonly x: Term; readonly y: Term }, { isTruth }: { readonly isTruth: boolean }) =>
          isTruth ? undefined : maxTerm(asInteger(x), asInteger(y)),
      }),
      classTransfer: ({ x, y }, { args }) =>
        args.propagateNan?.literal === "all" && (x === NAN || y === NAN) ? NAN : extreme(x, y),
      isNeutral: losesComparison(python === "max"),
    },
    triton36: {
      strongLiterals: true,
      result: ({ x, y }) => widened36(inferPair(name, x.type, y.type, python), x.type, y.type),
    },
  });
}

/** The result dtype in Triton 3.6, which widens bfloat16 operands: float32 instead of a 16-bit float. */
export function widened36(result: Type | RuleError, ...operands: readonly Type[]): "float32" | undefined {
  const isHalf = !(result instanceof Message) && result.kind === "tile" && members(result.dtype).some(is16);
  return isHalf && operands.some((type) => type.kind === "tile" && members(type.dtype).includes("bfloat16"))
    ? "float32"
    : undefined;
}
const is16 = (name: DTypeName) => name === "float16" || name === "bfloat16";

/** The smaller value: `tl.minimum(x, y)`. NaN is ignored unless `propagateNan` is "all". */
export const minimum = extremum("minimum", "min", (signs) => signs.every(Boolean));
/** The larger value: `tl.maximum(x, y)`. NaN is ignored unless `propagateNan` is "all". */
export const maximum = extremum("maximum", "max", (signs) => signs.some(Boolean));

/** Converts two numbers to scalars of the result dtype. */
const scalarPair = (x: Runtime, y: Runtime, dtype: DTypeName): [TileArray, TileArray, DTypeName] => [
  tileOf(x, dtype),
  tileOf(y, dtype),
  dtype,
];

/**
 * `x` where the condition is true, else `y`: `tl.where(mask, x, 0.0)`. The kernel computes both. If both are numbers,
 * the result is int32, or float32 if one has a fraction. To get float32 from whole numbers, add `.to(tl.float32)`.
 */
export const where = defineOp<
  <const C, const X, const Y>(
    condition: Validate<C, WhyCond<"where", C>>,
    x: Validate<X, WhyWhereFirst<C, X>>,
    y: Validate<Y, WhyWhereSecond<C, X, Y>>,
  ) => WhereOut<C, X, Y>
>()({
  name: "where",
  operands: { condition: "value", x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.where", host: { form: "conditional" } },
  infer: ({ condition, x, y }) => {
    const type = inferWhere(condition.type, x.type, y.type);
    if (type instanceof Message || type.kind !== "tile") return type;
    const sides = [x.type, y.type].flatMap((side) => (side.kind === "tile" ? [side.dtype] : []));
    return sides.every((dtype) => sameElem(dtype, type.dtype)) ? type : tileType(type.dtype, type.shape);
  },
  fold: (condition, x, y) => (condition ? x : y),
  evaluate: ({ condition, x, y }, { result }) => {
    const [a, b, dtype] = isTile(x) || isTile(y) ? promoteOperands(x, y) : scalarPair(x, y, result.dtype);
    const mask = isTile(condition) ? condition : tileOf(condition, "int1");
    return select(mask, cast(a, dtype), cast(b, dtype));
  },
  facts: {
    lanewise: true,
    rounds: false,
    nonNegative: ([, x, y]) => x === true && y === true,
    powerOfTwo: ([, x, y]) => x === true && y === true,
  },
  proof: {
    term: ({ condition, x, y }) => iteTerm(asTruth(condition), x, y),
    selectOperands: { condition: "condition", then: "x", otherwise: "y" },
  },
});

// `tl.choose`: a conditional expression over constexprs.

/**
 * Selects one of two constexprs or numbers at compile time: `64 if FLAG else 32`. The result may be a dimension of a
 * tile. Also `FLAG.choose(64, 32)`.
 */
export const choose = defineOp<
  <Name extends string, const X, const Y>(
    condition: ConstBool<Name>,
    x: Validate<X, WhyChosen<X>>,
    y: Validate<Y, WhyChosenToo<X, Y>>,
  ) => Chosen<`choose(${Name}, ${TextOf<X>}, ${TextOf<Y>})`, X, Y>
>()({
  name: "choose",
  operands: { condition: "value", x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "conditional", host: { form: "conditional" } },
  infer: ({ condition, x, y }) => inferChosen(condition.type, x.type, y.type),
  fold: (condition: Constant, x: Constant, y: Constant) => (condition ? x : y),
  facts: { nonNegative: ([, x, y]) => x === true && y === true },
  proof: { term: ({ condition, x, y }) => iteTerm(asTruth(condition), x, y) },
});
