/** The real functions that ops compute in each lane. An op without a rule has an unknown result. */
import {
  add,
  apply,
  constant,
  divide,
  multiply,
  negate,
  type Real,
  real,
  reciprocal,
  squareRoot,
  subtract,
  zero,
  inverseRoot,
} from "./real.js";
import { rational } from "./rational.js";

const LN_2 = constant("ln 2");

/** Base-2 exponentials and logarithms are those of base e with a factor. */
export const exp2Of = (x: Real): Real => apply("exp", multiply(LN_2, x));
const log2Of = (x: Real): Real => multiply(reciprocal(LN_2), apply("log", x));

export const unaryRules: Readonly<Record<string, (x: Real) => Real>> = {
  neg: negate,
  abs: (x) => apply("abs", x),
  exp: (x) => apply("exp", x),
  exp2: exp2Of,
  log: (x) => apply("log", x),
  log2: log2Of,
  sqrt: squareRoot,
  sqrtRn: squareRoot,
  rsqrt: inverseRoot,
  erf: (x) => apply("erf", x),
  sin: (x) => apply("sin", x),
  cos: (x) => apply("cos", x),
  floor: (x) => apply("floor", x),
  ceil: (x) => apply("ceil", x),
  sigmoid: (x) => apply("sigmoid", x),
  relu: (x) => apply("maximum", x, zero),
  libdeviceExp: (x) => apply("exp", x),
  libdeviceExp2: exp2Of,
  libdeviceLog: (x) => apply("log", x),
  libdeviceLog2: log2Of,
  libdeviceSqrt: squareRoot,
  libdeviceRsqrt: inverseRoot,
  libdeviceErf: (x) => apply("erf", x),
  libdeviceTanh: (x) => apply("tanh", x),
  libdeviceAsin: (x) => apply("asin", x),
  libdeviceSin: (x) => apply("sin", x),
  libdeviceCos: (x) => apply("cos", x),
  libdeviceAbs: (x) => apply("abs", x),
  libdeviceLog1p: (x) => apply("log", add(real(rational(1n)), x)),
  libdeviceExpm1: (x) => subtract(apply("exp", x), real(rational(1n))),
};

export const binaryRules: Readonly<Record<string, (x: Real, y: Real) => Real>> = {
  add,
  sub: subtract,
  mul: multiply,
  div: divide,
  divRn: divide,
  fdiv: divide,
  maximum: (x, y) => apply("maximum", x, y),
  minimum: (x, y) => apply("minimum", x, y),
};

export interface ComparisonRule {
  readonly operator: "greater" | "equal";
  /** True if the operands change places. */
  readonly swaps?: boolean;
  /** True if the negation of the comparison holds. */
  readonly negates?: boolean;
}

export const comparisonRules: Readonly<Record<string, ComparisonRule>> = {
  gt: { operator: "greater" },
  lt: { operator: "greater", swaps: true },
  le: { operator: "greater", negates: true },
  ge: { operator: "greater", swaps: true, negates: true },
  eq: { operator: "equal" },
  ne: { operator: "equal", negates: true },
};

/** One of two values, by a comparison of real numbers. */
export function compared(
  { operator, swaps, negates }: ComparisonRule,
  x: Real,
  y: Real,
  then: Real,
  otherwise: Real,
): Real {
  const [left, right] = swaps === true ? [y, x] : [x, y];
  const [first, second] = negates === true ? [otherwise, then] : [then, otherwise];
  return { kind: "comparison", operator, x: left, y: right, then: first, otherwise: second };
}

export type ReductionRule = "sum" | "maximum" | "minimum";

export const reductionRules: Readonly<Record<string, ReductionRule>> = { sum: "sum", max: "maximum", min: "minimum" };
