/** `+ - * / // %`, negation, and division of integers. */
import type { SignContext, TypedArguments } from "../ir/op.js";
import { asInteger, negative, call, isNumber, NEXT_POWER, number } from "../symbolic/term.js";
import {
  ANY_VALUE,
  type NumberClasses,
  NAN,
  NUMBERS,
  wrapIntegers,
  ONE,
  negateClass,
  multiplyClasses,
  divideClasses,
  addClasses,
  ZERO,
} from "../symbolic/number-class.js";
import {
  addText,
  divText,
  floorDivText,
  modText,
  mulText,
  subText,
  bitLength as bitLengthOf,
  nextPower,
} from "../types/constexpr-text.js";
import {
  divide,
  divideBig,
  remainder,
  remainderBig,
  pythonDivision,
  floorDivide,
  pythonArithmetic,
  wrap,
  wrapBig,
  isBig,
  isFloat,
} from "../numerics/numeric-int.js";
import type { Validate, RuleError } from "../types/rule-error.js";
import { offsetOut, whyOffset } from "../rules/memory-rules.js";
import {
  type ArithArgs,
  type ArithFold,
  type ArithOut,
  type DivideOut,
  inferArith,
  inferDivide,
  inferFloorDivide,
  inferModulo,
  inferNeg,
  type ModuloOut,
  type WhyArith,
  type WhyFloor,
  type WhyNeg,
  type WhyQuotient,
  type WhyRemainder,
} from "../rules/arithmetic-rules.js";
import type { OperatorOut, WhyOperatorFirst, WhyOperatorSecond } from "../rules/operator-functions.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import type { AtLeastOne, Constexpr } from "../types/constexpr.js";
import { type Type, constexprType } from "../types/types.js";
import { defineOp } from "./define.js";
import { binary, binaryInResult, quotient, unary } from "../values/operands.js";
import { offsetPointer } from "./pointer.js";
import {
  type CdivOut,
  type BitLengthOut,
  inferCdiv,
  type NextPowerOut,
  type WhyCdiv,
  whyInts,
  type WhyInts,
} from "../rules/math-rules.js";
type Pair<Name extends string> = <const X, const Y>(
  x: Validate<X, WhyOperatorFirst<Name, X>>,
  y: Validate<Y, WhyOperatorSecond<Name, X, Y>>,
) => OperatorOut<Name, X, Y>;

declare module "../types/tile.js" {
  interface TileOps {
    /** `x + y`. Several operands are added from the left: `a.add(b, c)` is `a + b + c`. */
    add<T extends TileLike, const O extends AtLeastOne>(
      this: T,
      ...others: ArithArgs<"add", T[El], T[Sh], O>
    ): ArithFold<T[El], T[Sh], O>;
    /** `x - y` */
    sub<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyArith<"sub", T[El], T[Sh], O>>,
    ): ArithOut<T[El], T[Sh], O>;
    /** `x * y`. Several operands are multiplied from the left. */
    mul<T extends TileLike, const O extends AtLeastOne>(
      this: T,
      ...others: ArithArgs<"mul", T[El], T[Sh], O>
    ): ArithFold<T[El], T[Sh], O>;
    /** `x / y`: float32, or float64 if an operand is float64. */
    div<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyQuotient<"div", T[El], T[Sh], O>>,
    ): DivideOut<T[El], T[Sh], O>;
    /** `x // y` of integers, which truncates toward zero as in C. */
    floorDiv<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyFloor<"floorDiv", T[El], T[Sh], O>>,
    ): ArithOut<T[El], T[Sh], O>;
    /**
     * `x % y`, with the sign of the dividend as in C. For floats, an NVIDIA GPU computes `x - trunc(x / y) * y`, which
     * is the remainder only if the quotient is exact (below 2²⁴ for float32, 2⁵³ for float64). A remainder of 0 is 0.0.
     */
    mod<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyRemainder<"mod", T[El], T[Sh], O>>,
    ): ModuloOut<T[El], T[Sh], O>;
    /** `-x`. The result for 0.0 is -0.0; in Triton 3.6 it is 0.0. */
    neg<T extends TileLike>(this: Validate<T, WhyNeg<T>>): Tile<T[El], T[Sh]>;
  }
}

/** The type of `pointer + offset`, or of a sum of values. */
function inferOffset(op: string, x: Type, y: Type, sum: () => Type | RuleError): Type | RuleError {
  if (x.kind === "pointer") return whyOffset(op, x, y) || offsetOut(x, y);
  return sum();
}

const infix = (operator: string) => ({ form: "infix", operator }) as const;
const operands = { x: "valueOrPointer", y: "value" } as const;
type BinaryArgs = TypedArguments<typeof operands>;
const types = ({ x, y }: BinaryArgs): [Type, Type] => [x.type, y.type];

const allNonNegative = (signs: readonly boolean[]) => signs.every(Boolean);
/**
 * `//` and `%` have the sign of the dividend, because the evaluator reports divisors that are not positive where an
 * address or a mask depends on them. Constant folding follows Python, which floors and accepts negative divisors, so
 * there the divisor matters too.
 */
const dividendSign = ([dividend, divisor]: readonly boolean[], { isFolded: folded }: SignContext<unknown>) =>
  dividend === true && (divisor === true || !folded);

/** The transfer function on number classes, with separate rules for floats and integers. */
const arithmeticTransfer =
  (
    floats: (x: NumberClasses, y: NumberClasses) => NumberClasses,
    integers: (x: NumberClasses, y: NumberClasses) => NumberClasses,
  ) =>
  (
    { x, y }: { readonly x: NumberClasses; readonly y: NumberClasses },
    { isFloat }: { readonly isFloat: boolean },
  ): NumberClasses =>
    isFloat ? floats(x, y) : integers(x, y);

/** `x + y`; a pointer plus offsets is a pointer. */
export const add = defineOp<Pair<"add">>()({
  name: "add",
  operands,
  method: true,
  variadic: true,
  effect: "pure",
  spelling: { ...infix("+"), host: infix("+") },
  infer: (args) => inferOffset("add", ...types(args), () => inferArith("add", ...types(args), addText)),
  fold: pythonArithmetic(
    (x, y) => x + y,
    (x, y) => x + y,
  ),
  evaluate: offsetPointer(1, binary({ float: (x, y) => x + y, int: (x, y) => x + y, big: (x, y) => x + y })),
  facts: { integer: "sum", isDataMovement: true, lanewise: true, nonNegative: allNonNegative },
  proof: {
    wraps: true,
    classTransfer: arithmeticTransfer(addClasses, wrapIntegers(addClasses, ZERO)),
    isNeutral: (classes) => classes === ZERO,
  },
});

/** `x - y` */
export const sub = defineOp<Pair<"sub">>()({
  name: "sub",
  operands,
  method: true,
  effect: "pure",
  spelling: { ...infix("-"), host: infix("-") },
  infer: (args) => inferOffset("sub", ...types(args), () => inferArith("sub", ...types(args), subText)),
  fold: pythonArithmetic(
    (x, y) => x - y,
    (x, y) => x - y,
  ),
  evaluate: offsetPointer(-1, binary({ float: (x, y) => x - y, int: (x, y) => x - y, big: (x, y) => x - y })),
  facts: { integer: "difference", lanewise: true },
  proof: {
    wraps: true,
    classTransfer: arithmeticTransfer(
      (x, y) => addClasses(x, negateClass(y)),
      (x, y) => (y === ZERO ? x : NUMBERS),
    ),
    isNeutral: (classes, _, isFirst) => classes === ZERO && !isFirst,
  },
});

/** `x * y` */
export const mul = defineOp<Pair<"mul">>()({
  name: "mul",
  operands,
  method: true,
  variadic: true,
  effect: "pure",
  spelling: { ...infix("*"), host: infix("*") },
  infer: (args) => inferArith("mul", ...types(args), mulText),
  fold: pythonArithmetic(
    (x, y) => x * y,
    (x, y) => x * y,
  ),
  evaluate: binary({ float: (x, y) => x * y, int: Math.imul, big: (x, y) => x * y }),
  facts: {
    integer: "product",
    lanewise: true,
    nonNegative: allNonNegative,
    positive: (operands) => operands.every(Boolean),
    powerOfTwo: (powers) => powers.every(Boolean),
  },
  proof: {
    wraps: true,
    classTransfer: arithmeticTransfer(multiplyClasses, wrapIntegers(multiplyClasses, ONE)),
    isNeutral: (classes) => classes === ONE,
  },
});

/** `x / y`: float32, or float64 if an operand is float64. */
export const div = defineOp<Pair<"div">>()({
  name: "div",
  operands,
  method: true,
  effect: "pure",
  spelling: infix("/"),
  infer: (args) => inferDivide("div", ...types(args), divText),
  fold: (x, y) => Number(x) / Number(y),
  evaluate: binaryInResult({ float: (x, y) => x / y }),
  facts: { lanewise: true },
  proof: {
    classTransfer: ({ x, y }) => divideClasses(x, y),
    isNeutral: (classes, _, isFirst) => classes === ONE && !isFirst,
  },
});

/** `x // y`, rounded toward zero. Between constexprs and in host expressions, it is rounded down, as in Python. */
export const floorDiv = defineOp<Pair<"floorDiv">>()({
  name: "floorDiv",
  operands,
  method: true,
  effect: "pure",
  spelling: { ...infix("//"), host: infix("//") },
  infer: (args) => inferFloorDivide("floorDiv", ...types(args), floorDivText),
  fold: pythonDivision((x, y) => Math.floor(x / y), floorDivide),
  evaluate: quotient({ int: divide, big: divideBig }),
  facts: { integer: "quotient", nonNegative: dividendSign },
  proof: { classTransfer: ({ x }) => (x === ZERO ? ZERO : ANY_VALUE) },
});

/**
 * `x % y`, with the sign of the dividend. Between constexprs and in host expressions, it has the sign of the divisor,
 * as in Python. For floats, an NVIDIA GPU computes `x - trunc(x / y) * y`, which is the remainder only if the quotient
 * is exact (below 2²⁴ for float32). A zero result is 0.0, never -0.0.
 */
export const mod = defineOp<Pair<"mod">>()({
  name: "mod",
  operands,
  method: true,
  effect: "pure",
  spelling: { ...infix("%"), host: infix("%") },
  infer: (args) => inferModulo("mod", ...types(args), modText),
  fold: pythonDivision(
    (x, y) => x - y * Math.floor(x / y),
    (x, y) => x - y * floorDivide(x, y),
  ),
  evaluate: quotient({ float: (x, y) => x % y, int: remainder, big: remainderBig }),
  facts: { integer: "remainder", lanewise: true, nonNegative: dividendSign },
  proof: { classTransfer: ({ x, y }) => (x === ZERO && y !== ZERO && y !== NAN ? ZERO : ANY_VALUE) },
});

/** `-x`. The result for 0.0 is -0.0; in Triton 3.6 it is 0.0. */
export const neg = defineOp<<T extends TileLike>(x: Validate<T, WhyNeg<T>>) => Tile<T[El], T[Sh]>>()({
  name: "neg",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "prefix", operator: "-", host: { form: "prefix", operator: "-" } },
  infer: ({ x }) => inferNeg("neg", x.type),
  fold: (x) => (typeof x === "bigint" ? -x : -Number(x)),
  evaluate: unary({ float: (x) => -x, int: (x) => -x, big: (x) => -x }),
  facts: { lanewise: true },
  proof: {
    term: ({ x }, { isTruth: truth }) => (truth ? undefined : negative(asInteger(x))),
    wraps: true,
    classTransfer: ({ x }, { isFloat: float }) => (float || x === ZERO ? negateClass(x) : NUMBERS),
  },
});

// Integer functions of kernels and host expressions.

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
