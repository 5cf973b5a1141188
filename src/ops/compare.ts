/** Comparisons, which return masks, and bitwise operators. */
import { type NumberClasses, EMPTY, NUMBERS, ONE, orClasses, ZERO } from "../symbolic/number-class.js";
import {
  andTerm,
  asInteger,
  atLeast,
  below,
  call,
  iteTerm,
  equal,
  isNumber,
  isTruth,
  negative,
  not as invert,
  number,
  remainder,
  orTerm,
  sum,
  type Term,
  type IntegerSemantics,
} from "../symbolic/term.js";
import { toExact, pythonBitwise } from "../numerics/numeric-int.js";
import type { Constant } from "../values/runtime-values.js";
import { callText } from "../types/constexpr-text.js";
import type { Validate } from "../types/rule-error.js";
import {
  type ArithFold,
  type ArithOut,
  type BitsArgs,
  type CmpOut,
  inferBits,
  inferCompare,
  inferNot,
  type WhyBits,
  type WhyCmp,
  type WhyNot,
} from "../rules/arithmetic-rules.js";
import type { OperatorOut, WhyOperatorFirst, WhyOperatorSecond } from "../rules/operator-functions.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import type { AtLeastOne } from "../types/constexpr.js";
import { defineOp } from "./define.js";
import { binary, type Loops, unary, bitwiseBinary } from "../values/operands.js";

declare module "../types/tile.js" {
  interface TileOps {
    /** `x < y` */
    lt<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"lt", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x <= y` */
    le<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"le", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x > y` */
    gt<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"gt", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x >= y` */
    ge<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"ge", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x == y` */
    eq<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"eq", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x != y` */
    ne<T extends TileLike, const O>(this: T, other: Validate<O, WhyCmp<"ne", T[El], T[Sh], O>>): CmpOut<T[Sh], O>;
    /** `x & y`, of masks or of integers. Several operands combine from the left. */
    and<T extends TileLike, const O extends AtLeastOne>(
      this: T,
      ...others: BitsArgs<"and", T[El], T[Sh], O>
    ): ArithFold<T[El], T[Sh], O>;
    /** `x | y`, of masks or of integers. Several operands combine from the left. */
    or<T extends TileLike, const O extends AtLeastOne>(
      this: T,
      ...others: BitsArgs<"or", T[El], T[Sh], O>
    ): ArithFold<T[El], T[Sh], O>;
    /** `x ^ y`, of masks or of integers. */
    xor<T extends TileLike, const O>(
      this: T,
      other: Validate<O, WhyBits<"xor", T[El], T[Sh], O>>,
    ): ArithOut<T[El], T[Sh], O>;
    /** `~x`, of a mask or of integers. */
    not<T extends TileLike>(this: Validate<T, WhyNot<T>>): Tile<T[El], T[Sh]>;
  }
}

const operands = { x: "value", y: "value" } as const;

type Pair<Name extends string> = <const X, const Y>(
  x: Validate<X, WhyOperatorFirst<Name, X>>,
  y: Validate<Y, WhyOperatorSecond<Name, X, Y>>,
) => OperatorOut<Name, X, Y>;

function comparison<Name extends string>(
  name: Name,
  operator: string,
  compare: (x: number | bigint, y: number | bigint) => boolean,
  semantics: IntegerSemantics | ((x: Term, y: Term) => Term),
) {
  const loops: Loops = { float: compare, int: compare, big: compare };
  return defineOp<Pair<Name>>()({
    name,
    operands,
    method: true,
    effect: "pure",
    spelling: { form: "infix", operator, host: { form: "infix", operator } },
    infer: ({ x, y }) => inferCompare(name, x.type, y.type, operator),
    fold: (x, y) => compare(comparable(x), comparable(y)),
    evaluate: binary(loops),
    facts: typeof semantics === "string" ? { integer: semantics } : {},
    triton36: { strongLiterals: true },
    proof: {
      ...(typeof semantics === "function" && {
        term: ({ x, y }: { readonly x: Term; readonly y: Term }) => semantics(asInteger(x), asInteger(y)),
      }),
      classTransfer: () => ZERO | ONE,
    },
  });
}

/** The operand of a folded comparison. Strings are compared only for equality, and not converted to numbers. */
const comparable = (x: Constant) => toExact(x) as number | bigint;

/** `x < y` */
export const lt = comparison("lt", "<", (x, y) => x < y, "below");
/** `x <= y` */
export const le = comparison("le", "<=", (x, y) => x <= y, "at most");
/** `x > y` */
export const gt = comparison("gt", ">", (x, y) => x > y, "above");
/** `x >= y` */
export const ge = comparison("ge", ">=", (x, y) => x >= y, "at least");
/** `x == y` */
export const eq = comparison("eq", "==", (x, y) => x === y, "equal");
/** `x != y` */
export const ne = comparison(
  "ne",
  "!=",
  (x, y) => x !== y,
  (x, y) => invert(equal(x, y)),
);

function bitwise<Name extends string>(
  name: Name,
  operator: string,
  truthOperator: string,
  int: (x: number, y: number) => number,
  big: (x: bigint, y: bigint) => bigint,
  nonNegative: (signs: readonly boolean[]) => boolean,
  term: (x: Term, y: Term) => Term | undefined,
  transfer: (x: NumberClasses, y: NumberClasses) => NumberClasses,
  neutralClasses: NumberClasses,
  absorbingElement?: 0 | -1,
) {
  const integers = pythonBitwise(int, big);
  return defineOp<Pair<Name>>()({
    name,
    operands,
    method: true,
    variadic: name !== "xor",
    effect: "pure",
    spelling: {
      form: "infix",
      operator,
      truth: truthOperator,
      host: { form: "infix", operator, truth: truthOperator },
    },
    infer: ({ x, y }) => inferBits(name, x.type, y.type, (a, b) => callText(truthOperator, a, b)),
    fold: (x, y) => (typeof x === "boolean" ? int(Number(x), Number(y)) !== 0 : integers(x, y)),
    evaluate: absorbingElement === undefined ? binary({ int, big }) : bitwiseBinary({ int, big }, absorbingElement),
    facts: { nonNegative, ...(name === "and" && { integer: "both" as const }) },
    proof: {
      term: ({ x, y }) => term(x, y),
      classTransfer: ({ x, y }) => transfer(x, y),
      isNeutral: (classes) => classes === neutralClasses,
    },
  });
}

/** The term of `x & (2^k - 1)`: the non-negative remainder of `x` by 2^k. */
function lowBitsTerm(x: Term, mask: Term): Term | undefined {
  const size = mask.value + 1n;
  const isLowMask = !isTruth(x) && isNumber(mask) && mask.value >= 0n && (size & mask.value) === 0n;
  return isLowMask ? remainder(x, number(size), true) : undefined;
}

/**
 * The term of `x | y` or `x ^ y`. For a multiple of 2^k and a number in [0, 2^k) it is their sum. This range is a
 * condition of the term; otherwise the result is an uninterpreted function.
 */
function disjointOrTerm(name: "or" | "xor", x: Term, y: Term): Term | undefined {
  if (isTruth(x) || isTruth(y)) return undefined;
  if (isNumber(x) && isNumber(y)) return number(name === "or" ? x.value | y.value : x.value ^ y.value);
  const [high, low] = powerOfTwoDivisor(x) >= powerOfTwoDivisor(y) ? [x, y] : [y, x];
  const size = powerOfTwoDivisor(high);
  if (size <= 1n) return undefined;
  const isBelow = andTerm(atLeast(low, number(0)), below(low, number(size)));
  return iteTerm(isBelow, sum(high, low), call(`bits of ${name}`, x, y));
}

/** A power of two that divides a term: a lower bound of the largest one. */
function powerOfTwoDivisor({ kind, operands: termOperands, value }: Term): bigint {
  if (kind === "number") return value === 0n ? 2n ** 62n : value & -value;
  if (kind === "product") return termOperands.reduce((power, part) => power * powerOfTwoDivisor(part), 1n);
  if (kind === "sum") return termOperands.map(powerOfTwoDivisor).reduce((x, y) => (x < y ? x : y));
  return 1n;
}

/** `x & y`, of masks or of integers. */
export const and = bitwise(
  "and",
  "&",
  "and",
  (x, y) => x & y,
  (x, y) => x & y,
  (signs) => signs.some(Boolean),
  (x, y) => (isTruth(x) && isTruth(y) ? andTerm(x, y) : (lowBitsTerm(x, y) ?? lowBitsTerm(y, x))),
  (x, y) => (x === ZERO || y === ZERO ? ZERO : NUMBERS),
  EMPTY,
  0,
);
/** `x | y` */
export const or = bitwise(
  "or",
  "|",
  "or",
  (x, y) => x | y,
  (x, y) => x | y,
  (signs) => signs.every(Boolean),
  (x, y) => (isTruth(x) && isTruth(y) ? orTerm(x, y) : disjointOrTerm("or", x, y)),
  orClasses,
  ZERO,
  -1,
);
/** `x ^ y` */
export const xor = bitwise(
  "xor",
  "^",
  "!=",
  (x, y) => x ^ y,
  (x, y) => x ^ y,
  (signs) => signs.every(Boolean),
  (x, y) => (isTruth(x) && isTruth(y) ? iteTerm(x, invert(y), y) : disjointOrTerm("xor", x, y)),
  orClasses,
  ZERO,
);

/** `~x`, of a mask or of integers; `not x` of a boolean constexpr. */
export const not = defineOp<<T extends TileLike>(x: Validate<T, WhyNot<T>>) => Tile<T[El], T[Sh]>>()({
  name: "not",
  operands: { x: "value" },
  method: true,
  effect: "pure",
  spelling: { form: "prefix", operator: "~", truth: "not", host: { form: "prefix", operator: "~", truth: "not" } },
  infer: ({ x }) => inferNot("not", x.type),
  fold(x) {
    if (typeof x === "boolean") return !x;
    return typeof x === "bigint" ? ~x : -1 - Number(x);
  },
  evaluate: (args, context) =>
    unary({ int: context.result.dtype === "int1" ? (x) => 1 - x : (x) => ~x, big: (x) => ~x })(args, context),
  proof: {
    term: ({ x }) => (isTruth(x) ? invert(x) : sum(negative(x), number(-1))),
    classTransfer: () => NUMBERS,
  },
});
