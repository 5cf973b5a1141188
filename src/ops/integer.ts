/** Integer functions of kernels and host expressions. */
import { call, isNumber, NEXT_POWER, number } from "../symbolic/term.js";
import type { Validate } from "../types/rule-error.js";
import type { Constexpr } from "../types/constexpr.js";
import {
  type CdivOut,
  type BitLengthOut,
  inferCdiv,
  type NextPowerOut,
  type WhyCdiv,
  whyInts,
  type WhyInts,
} from "../rules/math-rules.js";
import type { TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";
import { quotient } from "../values/operands.js";
import { divide, divideBig, wrap, wrapBig } from "../numerics/numeric-int.js";
import { pythonDivision, floorDivide } from "../numerics/python-arithmetic.js";
import { isBig, isFloat } from "../numerics/numeric.js";
import { bitLength as bitLengthOf, nextPower } from "../types/constexpr-value.js";
import { constexprType } from "../types/types.js";

declare module "../types/constexpr.js" {
  interface ConstexprOps<Name extends string> {
    /** The number of blocks of `y` that cover this: `tl.cdiv(x, y)`. */
    cdiv<const Y>(y: Validate<Y, WhyCdiv<Constexpr<Name>, Y>>): CdivOut<Constexpr<Name>, Y>;
  }
}
declare module "../types/tile.js" {
  interface TileOps {
    /** The number of blocks of `y` that cover this: `tl.cdiv(x, y)`. */
    cdiv<T extends TileLike, const Y>(this: T, y: Validate<Y, WhyCdiv<T, Y>>): CdivOut<T, Y>;
  }
}

/** The number of blocks of `y` that cover `x`: `tl.cdiv(M, BLOCK_M)`. Neither may be negative. */
export const cdiv = defineOp<
  <const X, const Y>(x: Validate<X, WhyInts<"cdiv", X>>, y: Validate<Y, WhyCdiv<X, Y>>) => CdivOut<X, Y>
>()({
  name: "cdiv",
  operands: { x: "value", y: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.cdiv", host: { form: "call", name: "triton.cdiv" } },
  infer: ({ x, y }) => inferCdiv(x.type, y.type),
  fold: pythonDivision(
    (x, y) => Math.floor((x + y - 1) / y),
    (x, y) => floorDivide(x + y - 1n, y),
  ),
  // The sum wraps, as in Triton's `(x + y - 1) // y`.
  evaluate: (args, context) => {
    const dtype = context.result.dtype;
    const int = isBig(dtype) || isFloat(dtype) ? undefined : wrap(dtype);
    const big = isBig(dtype) ? wrapBig(dtype) : undefined;
    const loops = {
      ...(int && { int: (x: number, y: number) => divide(int(x + y - 1), y) }),
      ...(big && { big: (x: bigint, y: bigint) => divideBig(big(x + y - 1n), y) }),
    };
    return quotient(loops, { roundsUp: true })(args, context);
  },
  facts: { integer: "blocks", nonNegative: (signs) => signs.every(Boolean), positive: ([x]) => x === true },
  proof: { wraps: true },
});

/** The smallest power of two that is at least `x`, in host expressions: `triton.next_power_of_2(N)`. */
export const nextPowerOf2 = defineOp<<const X>(x: Validate<X, WhyInts<"nextPowerOf2", X>>) => NextPowerOut<X>>()({
  name: "nextPowerOf2",
  operands: { x: "value" },
  effect: "pure",
  spelling: { form: "call", name: "triton.next_power_of_2", host: { form: "call", name: "triton.next_power_of_2" } },
  infer: ({ x }) => {
    const why = whyInts("nextPowerOf2", x.type);
    const text = x.type.kind === "constexpr" ? x.type.text : "size";
    return why || constexprType("int", `next_power_of_2(${text})`);
  },
  fold: (x) => nextPower(Number(x)),
  facts: { nonNegative: (signs) => signs.every(Boolean), powerOfTwo: (_, [x]) => x === true },
  proof: { term: ({ x }) => (isNumber(x) ? number(nextPower(Number(x.value))) : call(NEXT_POWER, x)) },
  needs: { hostOnly: true },
});

/** The number of bits of an integer, in host expressions: `(N - 1).bit_length()` is log2 of the next power of two. */
export const bitLength = defineOp<<const X>(x: Validate<X, WhyInts<"bitLength", X>>) => BitLengthOut<X>>()({
  name: "bitLength",
  operands: { x: "value" },
  effect: "pure",
  spelling: { form: "method", name: "bit_length", host: { form: "method", name: "bit_length" } },
  infer: ({ x }) => {
    const why = whyInts("bitLength", x.type);
    const text = x.type.kind === "constexpr" ? x.type.text : "size";
    return why || constexprType("int", `bit_length(${text})`);
  },
  fold: (x) => bitLengthOf(Number(x)),
  facts: { nonNegative: () => true },
  needs: { hostOnly: true },
});
