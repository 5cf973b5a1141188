/** `+ - * / // %` and negation. */
import type { SignContext, TypedArguments } from "../ir/op.js";
import { asInteger, negative } from "../symbolic/term.js";
import {
  ANY_VALUE,
  type NumberClasses,
  NAN,
  NUMBERS,
  ofIntegers,
  ONE,
  negateClass,
  multiplyClasses,
  divideClasses,
  addClasses,
  ZERO,
} from "../symbolic/number-class.js";
import { addText, divText, floorDivText, modText, mulText, subText } from "../types/constexpr-text.js";
import { divide, divideBig, remainder, remainderBig } from "../numerics/numeric-int.js";
import { pythonDivision, floorDivided, pythonArithmetic } from "../numerics/python-arithmetic.js";
import type { Validate } from "../types/rule-error.js";
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
import type { AtLeastOne } from "../types/constexpr.js";
import type { Type } from "../types/types.js";
import { defineOp } from "./define.js";
import { binary, binaryInResult, quotient, unary } from "../values/operands.js";
import { offsetPointer } from "./pointer.js";

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
     * `x % y`, with the sign of the dividend as in C. For floats an NVIDIA GPU computes `x - trunc(x / y) * y`, which
     * is the remainder only while the quotient is exact (below 2²⁴ for float32, 2⁵³ for float64); a remainder of 0 is
     * 0.0.
     */
    mod<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyRemainder<"mod", T[El], T[Sh], O>>,
    ): ModuloOut<T[El], T[Sh], O>;
    /** `-x`. For a float 0.0 the result is -0.0; Triton 3.6 gives 0.0. */
    neg<T extends TileLike>(this: Validate<T, WhyNeg<T>>): Tile<T[El], T[Sh]>;
  }
}

/** The type of `pointer + offset`, or of a sum. */
function inferOffset(op: string, x: Type, y: Type, sum: () => Type | string): Type | string {
  if (x.kind === "pointer") return whyOffset(op, x, y) || offsetOut(x, y);
  return sum();
}

const infix = (operator: string) => ({ form: "infix", operator }) as const;
const operands = { x: "valueOrPointer", y: "value" } as const;
type Two = TypedArguments<typeof operands>;
const types = ({ x, y }: Two): [Type, Type] => [x.type, y.type];

/** Signs: whether the result is non-negative if the operands are. */
const bothSigns = (signs: readonly boolean[]) => signs.every(Boolean);
/**
 * The sign of `//` and `%` is the dividend's: the evaluator reports divisors that are not positive. Python (`folded`) floors
 * and reports nothing, so there the divisor counts too.
 */
const dividendSign = ([dividend, divisor]: readonly boolean[], { folded }: SignContext<unknown>) =>
  dividend === true && (divisor === true || !folded);

/** The rule for what a lane of two numbers' result holds. */
const arithmetic =
  (
    floats: (x: NumberClasses, y: NumberClasses) => NumberClasses,
    integers: (x: NumberClasses, y: NumberClasses) => NumberClasses,
  ) =>
  (
    { x, y }: { readonly x: NumberClasses; readonly y: NumberClasses },
    { float }: { readonly float: boolean },
  ): NumberClasses =>
    float ? floats(x, y) : integers(x, y);

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
  facts: { integer: "sum", isDataMovement: true, lanewise: true, nonNegative: bothSigns },
  proof: {
    wraps: true,
    classTransfer: arithmetic(addClasses, ofIntegers(addClasses, ZERO)),
    isNeutral: (held) => held === ZERO,
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
    classTransfer: arithmetic(
      (x, y) => addClasses(x, negateClass(y)),
      (x, y) => (y === ZERO ? x : NUMBERS),
    ),
    isNeutral: (held, _, isFirst) => held === ZERO && !isFirst,
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
    nonNegative: bothSigns,
    positive: (operands) => operands.every(Boolean),
    powerOfTwo: (powers) => powers.every(Boolean),
  },
  proof: {
    wraps: true,
    classTransfer: arithmetic(multiplyClasses, ofIntegers(multiplyClasses, ONE)),
    isNeutral: (held) => held === ONE,
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
    isNeutral: (held, _, isFirst) => held === ONE && !isFirst,
  },
});

/** `x // y`: integers truncate toward zero; constexprs and sizes on the host floor, as in Python. */
export const floorDiv = defineOp<Pair<"floorDiv">>()({
  name: "floorDiv",
  operands,
  method: true,
  effect: "pure",
  spelling: { ...infix("//"), host: infix("//") },
  infer: (args) => inferFloorDivide("floorDiv", ...types(args), floorDivText),
  fold: pythonDivision((x, y) => Math.floor(x / y), floorDivided),
  evaluate: quotient({ int: divide, big: divideBig }),
  facts: { integer: "quotient", nonNegative: dividendSign },
  proof: { classTransfer: ({ x }) => (x === ZERO ? ZERO : ANY_VALUE) },
});

/**
 * `x % y`, with the sign of the dividend; for constexprs and sizes on the host with that of the divisor, as in Python.
 * For floats an NVIDIA GPU computes `x - trunc(x / y) * y`: the remainder while the quotient is exact (below 2²⁴ for
 * float32), and 0.0 for -0.0.
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
    (x, y) => x - y * floorDivided(x, y),
  ),
  evaluate: quotient({ float: (x, y) => x % y, int: remainder, big: remainderBig }),
  facts: { integer: "remainder", lanewise: true, nonNegative: dividendSign },
  proof: { classTransfer: ({ x, y }) => (x === ZERO && y !== ZERO && y !== NAN ? ZERO : ANY_VALUE) },
});

/** `-x`. For a float 0.0 the result is -0.0; Triton 3.6 gives 0.0. */
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
    term: ({ x }, { truth }) => (truth ? undefined : negative(asInteger(x))),
    wraps: true,
    classTransfer: ({ x }, { float }) => (float || x === ZERO ? negateClass(x) : NUMBERS),
  },
});
