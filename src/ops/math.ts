/**
 * Elementwise functions of floats, and compositions of other ops. The evaluator computes functions in float64 and
 * rounds once.
 */
import {
  unaryTransfer,
  FINITE,
  type NumberClasses,
  LOWEST,
  HIGHEST,
  NAN,
  NEGATIVE,
  ONE,
  negateClass,
  POSITIVE,
  divideClasses,
  addClasses,
  ZERO,
} from "../symbolic/number-class.js";
import { asInteger, maxTerm, negative } from "../symbolic/term.js";
import type { Validate } from "../types/rule-error.js";
import {
  type AbsOut,
  inferAbs,
  inferMath,
  type MathOut,
  type WhyAbs,
  type WhyMath,
  inferPair,
  type Plain,
  whyTile,
  type WhyTile,
} from "../rules/math-rules.js";
import { inferSingle, type WhySingleOf } from "../rules/elementwise-rules.js";
import { erf as erfOf } from "../numerics/special.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { defineOp, checkedArguments, defineFunctionOp, type OpRecord } from "./define.js";
import { unary } from "../values/operands.js";
import { mulText } from "../types/constexpr-text.js";
import { type ArithOut, inferArith, type WhyArith } from "../rules/arithmetic-rules.js";
import { literalType } from "../types/types.js";
import { maximum } from "./select.js";
import { hostOnly } from "../diagnostics/catalog/host-codes.js";
import { fail } from "../diagnostics/diagnostic.js";
import { builder } from "../ir/builder.js";
import type { Operands } from "../ir/op.js";
import { actuals, traceHelper, appendCall, calledResult } from "./helper.js";
import { Message } from "../diagnostics/message.js";

type MathFunction<Name extends string> = <const X>(x: Validate<X, WhyMath<Name, X>>) => MathOut<X>;

declare module "../types/tile.js" {
  interface TileOps {
    /** e to the power of x: `tl.exp(x)`. */
    exp<T extends TileLike>(this: Validate<T, WhyMath<"exp", T>>): Tile<T[El], T[Sh]>;
    /** 2 to the power of x: `tl.exp2(x)`. */
    exp2<T extends TileLike>(this: Validate<T, WhyMath<"exp2", T>>): Tile<T[El], T[Sh]>;
    /** Natural logarithm: `tl.log(x)`. */
    log<T extends TileLike>(this: Validate<T, WhyMath<"log", T>>): Tile<T[El], T[Sh]>;
    /** Logarithm to base 2: `tl.log2(x)`. */
    log2<T extends TileLike>(this: Validate<T, WhyMath<"log2", T>>): Tile<T[El], T[Sh]>;
    /** Sine of radians: `tl.sin(x)`. */
    sin<T extends TileLike>(this: Validate<T, WhyMath<"sin", T>>): Tile<T[El], T[Sh]>;
    /** Cosine of radians: `tl.cos(x)`. */
    cos<T extends TileLike>(this: Validate<T, WhyMath<"cos", T>>): Tile<T[El], T[Sh]>;
    /** Square root, approximate on the GPU: `tl.sqrt(x)`. */
    sqrt<T extends TileLike>(this: Validate<T, WhyMath<"sqrt", T>>): Tile<T[El], T[Sh]>;
    /** Square root, correctly rounded: `tl.sqrt_rn(x)`. */
    sqrtRn<T extends TileLike>(this: Validate<T, WhySingleOf<"sqrtRn", T>>): Tile<T[El], T[Sh]>;
    /** Inverse square root: `tl.rsqrt(x)`. */
    rsqrt<T extends TileLike>(this: Validate<T, WhyMath<"rsqrt", T>>): Tile<T[El], T[Sh]>;
    /** Error function: `tl.erf(x)`. */
    erf<T extends TileLike>(this: Validate<T, WhyMath<"erf", T>>): Tile<T[El], T[Sh]>;
    /** The largest whole number that is at most x: `tl.floor(x)`. */
    floor<T extends TileLike>(this: Validate<T, WhyMath<"floor", T>>): Tile<T[El], T[Sh]>;
    /** The smallest whole number that is at least x: `tl.ceil(x)`. */
    ceil<T extends TileLike>(this: Validate<T, WhyMath<"ceil", T>>): Tile<T[El], T[Sh]>;
    /** `1 / (1 + exp(-x))`: `tl.sigmoid(x)`. */
    sigmoid<T extends TileLike>(this: Validate<T, WhyMath<"sigmoid", T>>): Tile<T[El], T[Sh]>;
    /** The absolute value: `tl.abs(x)`. */
    abs<T extends TileLike>(this: T): Tile<T[El], T[Sh]>;
  }
}

/** The transfer functions on number classes. */
const expTransfer = unaryTransfer({
  least: ZERO,
  negative: POSITIVE,
  zero: ONE,
  one: POSITIVE,
  positive: POSITIVE,
  most: HIGHEST,
});
const logTransfer = unaryTransfer({
  least: NAN,
  negative: NAN,
  zero: LOWEST,
  one: ZERO,
  positive: FINITE,
  most: HIGHEST,
});
const sqrtTransfer = unaryTransfer({
  least: NAN,
  negative: NAN,
  zero: ZERO,
  one: ONE,
  positive: POSITIVE,
  most: HIGHEST,
});
const erfTransfer = unaryTransfer({
  least: NEGATIVE,
  negative: NEGATIVE,
  zero: ZERO,
  one: POSITIVE,
  positive: POSITIVE,
  most: ONE,
});
const trigTransfer = (zero: NumberClasses) =>
  unaryTransfer({ least: NAN, negative: FINITE, zero, one: FINITE, positive: FINITE, most: NAN });

function math<Name extends string>(
  name: Name,
  python: string,
  float: (x: number) => number,
  transfer: (x: NumberClasses) => NumberClasses,
) {
  return defineOp<MathFunction<Name>>()({
    name,
    operands: { x: "value" },
    method: true,
    effect: "pure",
    spelling: { form: "call", name: python },
    infer: ({ x }) => inferMath(name, x.type),
    evaluate: unary({ float }),
    facts: { lanewise: true },
    proof: { classTransfer: ({ x }) => transfer(x) },
  });
}

/** e to the power of x: `tl.exp(x)`. */
export const exp = math("exp", "tl.exp", Math.exp, expTransfer);
/** 2 to the power of x: `tl.exp2(x)`. */
export const exp2 = math("exp2", "tl.exp2", (x) => 2 ** x, expTransfer);
/** Natural logarithm: `tl.log(x)`. */
export const log = math("log", "tl.log", Math.log, logTransfer);
/** Logarithm to base 2: `tl.log2(x)`. */
export const log2 = math("log2", "tl.log2", Math.log2, logTransfer);
/** Sine of radians: `tl.sin(x)`. */
export const sin = math("sin", "tl.sin", Math.sin, trigTransfer(ZERO));
/** Cosine of radians: `tl.cos(x)`. */
export const cos = math("cos", "tl.cos", Math.cos, trigTransfer(ONE));
/** Square root, approximate on the GPU: `tl.sqrt(x)`. */
export const sqrt = math("sqrt", "tl.sqrt", Math.sqrt, sqrtTransfer);
/** Inverse square root: `tl.rsqrt(x)`. */
export const rsqrt = math(
  "rsqrt",
  "tl.rsqrt",
  (x) => 1 / Math.sqrt(x),
  (x) => divideClasses(ONE, sqrtTransfer(x)),
);
/** Error function: `tl.erf(x)`. */
export const erf = math("erf", "tl.erf", erfOf, erfTransfer);
/** The largest whole number that is at most x: `tl.floor(x)`. */
export const floor = math("floor", "tl.floor", Math.floor, (x) => (x === POSITIVE ? ZERO | POSITIVE : x));
/** The smallest whole number that is at least x: `tl.ceil(x)`. */
export const ceil = math("ceil", "tl.ceil", Math.ceil, (x) => (x === NEGATIVE ? NEGATIVE | ZERO : x));

/** `1 / (1 + exp(-x))`: `tl.sigmoid(x)`. */
export const sigmoid = defineOp<<const X>(x: Validate<X, WhyMath<"sigmoid", X>>) => MathOut<X>>()({
  name: "sigmoid",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.sigmoid" },
  infer: ({ x }) => inferMath("sigmoid", x.type),
  evaluate: unary({ float: (x) => 1 / (1 + Math.exp(-x)) }),
  facts: { lanewise: true },
  proof: { classTransfer: ({ x }) => divideClasses(ONE, addClasses(ONE, expTransfer(negateClass(x)))) },
});

/** Square root of float32, correctly rounded: `tl.sqrt_rn(x)`. */
export const sqrtRn = defineOp<<const X>(x: Validate<X, WhySingleOf<"sqrtRn", X>>) => MathOut<X>>()({
  name: "sqrtRn",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.sqrt_rn" },
  infer: ({ x }) => inferSingle("sqrtRn", x.type),
  evaluate: unary({ float: Math.sqrt }),
  facts: { lanewise: true },
  proof: { classTransfer: ({ x }) => sqrtTransfer(x) },
});

/** The absolute value of integers and floats: `tl.abs(x)`. The most negative integer is unchanged. */
export const abs = defineOp<<const X>(x: Validate<X, WhyAbs<X>>) => AbsOut<X>>()({
  name: "abs",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.abs" },
  infer: ({ x }) => inferAbs(x.type),
  evaluate: unary({ float: Math.abs, int: Math.abs, big: (x) => (x < 0n ? -x : x) }),
  facts: { nonNegative: () => true },
  proof: {
    term: ({ x }, { isTruth: truth }) => (truth ? undefined : maxTerm(asInteger(x), negative(asInteger(x)))),
    wraps: true,
    classTransfer: ({ x }, { isFloat: float }) => (x === NEGATIVE || (float && x === LOWEST) ? negateClass(x) : x),
  },
});

// Ops that are compositions of other ops. Each is emitted as a Python function.

/** The declaration of a derived op. Emission, evaluation and proofs follow from its parts. */
interface DerivedRecord<Given extends Operands> extends Pick<
  OpRecord<Given, {}>,
  "name" | "method" | "operands" | "infer"
> {
  readonly parts: (...operands: any[]) => unknown;
}

/**
 * Defines a derived op: `derived<Signature>()({ … })`. The record declares its operands and types, so that messages
 * name this op. `parts` computes it with other ops. A kernel that calls it gets one `@triton.jit` function for each
 * combination of operand types, as with `tl.fn`.
 */
function derived<Signature>() {
  return <const Given extends Operands>({ parts, ...record }: DerivedRecord<Given>) =>
    defineFunctionOp<Signature>()<Given>({ ...record, parts, effect: "pure", spelling: { form: "apply" } }, (op) => {
      const definition = {
        body: parts,
        name: op.name,
        noinline: false,
        location: undefined,
        opName: op.name,
        isLibrary: true,
      };
      return (...args) => {
        const recorder = builder(`tl.${op.name}`);
        const location = recorder.location();
        if (recorder.executionSpace === "host") fail(hostOnly.notOnHost(op.name), location);
        checkedArguments(recorder, op, args, location);
        const values = actuals(recorder, args, op.name, location);
        const { helper, body } = traceHelper(recorder, definition, args, location);
        return calledResult(appendCall(recorder, helper, values, location), body.form);
      };
    });
}

type WhyRelu<X> = X extends TileLike ? WhyArith<"relu", X[El], X[Sh], 0> : WhyTile<"relu", X>;
type WhySide<X> = X extends TileLike ? WhyMath<"hypot", X> : WhyTile<"hypot", X>;
type WhyOther<X, Y> = X extends TileLike
  ? WhySide<Y> extends ""
    ? WhyArith<"hypot", X[El], X[Sh], Y>
    : WhySide<Y>
  : WhySide<Y>;
type HypotOut<X, Y> = X extends TileLike ? ArithOut<X[El], X[Sh], Y> : Tile<any, any>;

declare module "../types/tile.js" {
  interface TileOps {
    /** The larger of x and 0; NaN stays NaN: `relu(x)`. */
    relu<T extends TileLike>(this: Validate<T, WhyRelu<T>>): Tile<T[El], T[Sh]>;
    /** Square root of the sum of two squares: `hypot(x, y)`. */
    hypot<T extends TileLike, const Y>(this: Validate<T, WhySide<T>>, y: Validate<Y, WhyOther<T, Y>>): HypotOut<T, Y>;
  }
}

/** The larger of x and 0; NaN stays NaN, as in PyTorch. `relu(x)` is `tl.maximum` with `propagate_nan`. */
export const relu = derived<<X>(x: Validate<X, WhyRelu<X>>) => Plain<X>>()({
  name: "relu",
  operands: { x: "tile" },
  method: true,
  infer: ({ x }) => whyTile("relu", x.type) || inferPair("relu", x.type, literalType(0), "max"),
  parts: (x) => maximum(x, 0, { propagateNan: "all" }),
});

/**
 * Square root of the sum of two squares: `hypot(x, y)` is `tl.sqrt(x * x + y * y)`. If a square overflows, the result
 * is infinite; `libdevice.hypot` scales its operands to avoid that.
 */
export const hypot = derived<
  <X, const Y>(x: Validate<X, WhySide<X>>, y: Validate<Y, WhyOther<X, Y>>) => HypotOut<X, Y>
>()({
  name: "hypot",
  operands: { x: "tile", y: "tile" },
  method: true,
  infer: ({ x, y }) => {
    const operandTypes = [x.type, y.type].map((side) => whyTile("hypot", side) || inferMath("hypot", side));
    return operandTypes.find((side) => side instanceof Message) ?? inferArith("hypot", x.type, y.type, mulText);
  },
  parts: (x, y) => sqrt(x.mul(x).add(y.mul(y))),
});
