/** Rules of torch's elementwise functions. */
import { broadcastLane, broadcastShape } from "../model/symbolic-environment.js";
import type { NumberComparison } from "../../torch/node.js";
import {
  difference,
  product,
  sum,
  type Term,
  above,
  atLeast,
  atMost,
  below,
  equal,
  not,
  number,
  quotient,
  remainder,
} from "../../symbolic/term.js";
import { comparisonRules, compared, exp2Of, unaryRules } from "./functions.js";
import {
  add,
  apply,
  choose,
  constant,
  divide,
  multiply,
  negate,
  one,
  power,
  type Real,
  real,
  reciprocal,
  squareRoot,
  subtract,
  zero,
  INFINITE,
  integer,
} from "./real.js";
import { HALF, rational, rationalOf, noRule } from "./rational.js";
import { atAxis } from "../../types/dims.js";
import { canonical } from "./integer-form.js";

// Tensors of a reference, as real expressions of an element's index.

/** A tensor of floats, or of integers if it has `terms`, or of truth values if it has `pick`. */
export interface SymbolicTensor {
  readonly shape: readonly Term[];
  at(index: readonly Term[]): Real;
  readonly terms?: ((index: readonly Term[]) => Term) | undefined;
  /** One of two values, by the element's truth value. */
  readonly pick?: ((index: readonly Term[], then: Real, otherwise: Real) => Real) | undefined;
}

/** A value of a reference: a tensor, a size, a condition of sizes, a number, a text or a list. */
export type TorchSymbol =
  SymbolicTensor | { readonly term: Term } | number | boolean | string | null | undefined | readonly TorchSymbol[];

/** The arguments of a call by parameter; those that are absent or None are undefined. */
export type TorchArguments = Readonly<Record<string, TorchSymbol>>;
export type TorchRule = (args: TorchArguments) => TorchSymbol;

const isTensor = (x: TorchSymbol): x is SymbolicTensor => typeof x === "object" && x !== null && "shape" in x;
export const isTerm = (x: TorchSymbol): x is { readonly term: Term } =>
  typeof x === "object" && x !== null && "term" in x;
export const isListOf = (x: TorchSymbol): x is readonly TorchSymbol[] => Array.isArray(x);

export function tensorOf(x: TorchSymbol): SymbolicTensor {
  if (isTensor(x)) return x;
  if (isTerm(x)) return { shape: [], at: () => integer(x.term), terms: () => x.term };
  if (typeof x === "boolean") return { shape: [], at: () => real(rational(Number(x))) };
  if (typeof x !== "number") return noRule("a value of the reference that is no tensor");
  if (x === -Infinity) return { shape: [], at: () => INFINITE };
  const value = Number.isFinite(x) ? real(rationalOf(x)) : noRule("a number that is not finite");
  return { shape: [], at: () => value, ...(Number.isInteger(x) && { terms: () => number(x) }) };
}

/** A float tensor: of integers only their real values are known to have no rounding or wrapping. */
export function floatsOf(x: TorchSymbol): SymbolicTensor {
  const { shape, at } = tensorOf(x);
  return { shape, at };
}

export function termOf(x: TorchSymbol): Term {
  if (isTerm(x)) return x.term;
  return typeof x === "number" && Number.isInteger(x) ? number(x) : noRule("a size of the reference");
}

export function axisOf(x: TorchSymbol, rank: number): number {
  if (typeof x !== "number") return noRule("an axis of the reference");
  return x < 0 ? x + rank : x;
}

export function lanewise(
  operands: readonly SymbolicTensor[],
  compute: (...values: readonly Real[]) => Real,
): SymbolicTensor {
  return {
    shape: broadcastShape(...operands.map(({ shape }) => shape)),
    at: (index) => compute(...operands.map((operand) => operand.at(broadcastLane(operand.shape, index)))),
  };
}

/** A tensor whose elements are those of another one, at another index. */
export function moved(
  x: SymbolicTensor,
  shape: readonly Term[],
  from: (index: readonly Term[]) => readonly Term[],
): SymbolicTensor {
  const { terms, pick } = x;
  return {
    shape,
    at: (index) => x.at(from(index)),
    ...(terms && { terms: (index: readonly Term[]) => terms(from(index)) }),
    ...(pick && {
      pick: (index: readonly Term[], then: Real, otherwise: Real) => pick(from(index), then, otherwise),
    }),
  };
}

export function transposed(x: SymbolicTensor, first: number, second: number): SymbolicTensor {
  const swap = (list: readonly Term[]) =>
    list.map((each, axis) => {
      if (axis === first) return atAxis(list, second);
      return axis === second ? atAxis(list, first) : each;
    });
  return moved(x, swap(x.shape), swap);
}

/** The same elements in another shape, in row-major order. */
export function reshaped(x: SymbolicTensor, shape: readonly Term[]): SymbolicTensor {
  return moved(x, shape, (index) => {
    let position: Term = number(0);
    index.forEach((each, axis) => (position = sum(product(position, atAxis(shape, axis)), each)));
    const result: Term[] = [];
    for (let axis = x.shape.length - 1; axis > 0; axis--) {
      const dim = atAxis(x.shape, axis);
      result.unshift(remainder(position, dim));
      position = quotient(position, dim);
    }
    return x.shape.length === 0 ? [] : [position, ...result];
  });
}

export const sizeOf = (shape: readonly Term[]): Term => canonical(product(...shape));

/** Comparisons of integers. */
export const termComparisons: Readonly<Record<NumberComparison, (x: Term, y: Term) => Term>> = {
  eq: equal,
  ne: (x, y) => not(equal(x, y)),
  lt: below,
  le: atMost,
  gt: above,
  ge: atLeast,
};

const THREE = rational(3n);
const two = real(rational(2n));
const six = real(rational(6n));
const half = real(HALF);
const sigmoid = (x: Real): Real => apply("sigmoid", x);
const maximum = (x: Real, y: Real): Real => apply("maximum", x, y);
const minimum = (x: Real, y: Real): Real => apply("minimum", x, y);
const softplus = (x: Real): Real => apply("log", add(one, apply("exp", x)));
const clampTo6 = (x: Real): Real => minimum(maximum(x, zero), six);

/** Functions of integers have float results, except those below. */
const unary =
  (compute: (x: Real) => Real): TorchRule =>
  ({ input }) =>
    lanewise([floatsOf(input)], compute);

/** A function that does not turn integers into floats: their arithmetic may wrap. */
const sameKind =
  (compute: (x: Real) => Real): TorchRule =>
  ({ input }) =>
    lanewise([floatTensor(input)], compute);

/** A tensor that does not hold integers or truth values. */
export function floatTensor(x: TorchSymbol): SymbolicTensor {
  const tensor = tensorOf(x);
  if (tensor.shape.length > 0 && (tensor.terms || tensor.pick)) noRule("arithmetic of integers");
  return floatsOf(tensor);
}

/** Arithmetic of floats, or of integers whose terms do not wrap because they are indices. */
function arithmetic(
  reals: (x: Real, y: Real) => Real,
  terms: ((x: Term, y: Term) => Term) | undefined,
  left: TorchSymbol,
  right: TorchSymbol,
): SymbolicTensor {
  const [x, y] = [tensorOf(left), tensorOf(right)];
  const result = lanewise([x, y], reals);
  if (x.pick || y.pick) return noRule("arithmetic of truth values");
  const { terms: first } = x;
  const { terms: second } = y;
  if (!first || !second) return result;
  if (!terms) return noRule("arithmetic of integers");
  return {
    ...result,
    terms: (index) => terms(first(broadcastLane(x.shape, index)), second(broadcastLane(y.shape, index))),
  };
}

const withAlpha =
  (reals: (x: Real, y: Real) => Real, terms: (x: Term, y: Term) => Term): TorchRule =>
  ({ input, other, alpha }) =>
    alpha === undefined || alpha === 1 ? arithmetic(reals, terms, input, other) : noRule("alpha");

function comparison(name: NumberComparison): TorchRule {
  const rule = comparisonRules[name] ?? noRule(name);
  return ({ input, other }) => {
    const [x, y] = [tensorOf(input), tensorOf(other)];
    const { shape } = lanewise([x, y], add);
    const { terms: first } = x;
    const { terms: second } = y;
    const pick = (index: readonly Term[], then: Real, otherwise: Real): Real => {
      if (first && second) {
        const [a, b] = [first(broadcastLane(x.shape, index)), second(broadcastLane(y.shape, index))];
        return choose(termComparisons[name](a, b), then, otherwise);
      }
      return compared(rule, x.at(broadcastLane(x.shape, index)), y.at(broadcastLane(y.shape, index)), then, otherwise);
    };
    return { shape, at: (index: readonly Term[]) => pick(index, one, zero), pick };
  };
}

function gelu({ input, approximate }: TorchArguments): TorchSymbol {
  const cube = real(rationalOf(0.044715));
  const scale = divide(squareRoot(two), squareRoot(constant("π")));
  const inner = (x: Real): Real =>
    approximate === "tanh"
      ? apply("tanh", multiply(scale, add(x, multiply(cube, power(x, THREE)))))
      : apply("erf", divide(x, squareRoot(two)));
  return lanewise([floatsOf(input)], (x) => multiply(half, x, add(one, inner(x))));
}

function clamp({ input, min, max }: TorchArguments): TorchSymbol {
  const bounds = [min, max].map((each) => (each === undefined ? undefined : floatsOf(each)));
  const lower = bounds[0] ? lanewise([floatTensor(input), bounds[0]], maximum) : floatTensor(input);
  return bounds[1] ? lanewise([lower, bounds[1]], minimum) : lower;
}

/** One of two tensors, by a truth value. */
function where({ condition, input, other }: TorchArguments): TorchSymbol {
  const [truth, x, y] = [tensorOf(condition), floatsOf(input), floatsOf(other)];
  const { pick } = truth;
  if (!pick) return noRule("a condition of torch.where");
  const { shape } = lanewise([truth, x, y], add);
  return {
    shape,
    at: (index: readonly Term[]) =>
      pick(broadcastLane(truth.shape, index), x.at(broadcastLane(x.shape, index)), y.at(broadcastLane(y.shape, index))),
  };
}

function raised({ input, exponent }: TorchArguments): TorchSymbol {
  if (typeof exponent !== "number") return noRule("a power that is no number");
  return lanewise([floatTensor(input)], (x) => power(x, rationalOf(exponent)));
}

/** A power that the author writes. Other functions of torch avoid the overflow of those that their rules contain. */
const written = (x: Real): Real => ({ ...x, origin: "reference" });
const ruleOf = (name: string): ((x: Real) => Real) => unaryRules[name] ?? noRule(name);
const identity: TorchRule = ({ input }) => tensorOf(input);
const toFloats: TorchRule = ({ input }) => {
  const tensor = tensorOf(input);
  return tensor.pick ? noRule("a cast of truth values") : floatsOf(tensor);
};

export const elementwiseRules: Readonly<Record<string, TorchRule>> = {
  add: withAlpha(add, sum),
  sub: withAlpha(subtract, difference),
  mul: ({ input, other }) => arithmetic(multiply, product, input, other),
  div: ({ input, other, rounding_mode: mode }) =>
    mode === undefined ? lanewise([floatsOf(input), floatsOf(other)], divide) : noRule("a rounded quotient"),
  pow: raised,
  maximum: ({ input, other }) => lanewise([floatTensor(input), floatTensor(other)], maximum),
  minimum: ({ input, other }) => lanewise([floatTensor(input), floatTensor(other)], minimum),
  lerp: ({ input, end, weight }) =>
    lanewise([floatsOf(input), floatsOf(end), floatsOf(weight)], (x = zero, y = zero, w = zero) =>
      add(x, multiply(w, subtract(y, x))),
    ),
  clamp,
  where,
  masked_fill: ({ input, mask, value }) => where({ condition: mask, input: value, other: input }),
  neg: sameKind(negate),
  abs: sameKind(ruleOf("abs")),
  square: sameKind((x) => power(x, rational(2n))),
  reciprocal: unary(reciprocal),
  sqrt: unary(squareRoot),
  rsqrt: unary(ruleOf("rsqrt")),
  exp: unary((x) => written(ruleOf("exp")(x))),
  exp2: unary((x) => written(exp2Of(x))),
  expm1: unary((x) => subtract(written(apply("exp", x)), one)),
  log: unary(ruleOf("log")),
  log2: unary(ruleOf("log2")),
  log10: unary((x) => divide(apply("log", x), constant("ln 10"))),
  log1p: unary((x) => apply("log", add(one, x))),
  sin: unary(ruleOf("sin")),
  cos: unary(ruleOf("cos")),
  asin: unary((x) => apply("asin", x)),
  tanh: unary((x) => apply("tanh", x)),
  erf: unary(ruleOf("erf")),
  floor: sameKind(ruleOf("floor")),
  ceil: sameKind(ruleOf("ceil")),
  lt: comparison("lt"),
  le: comparison("le"),
  gt: comparison("gt"),
  ge: comparison("ge"),
  eq: comparison("eq"),
  ne: comparison("ne"),
  sigmoid: unary(sigmoid),
  // Its derivative at 0 is 0, unlike that of a maximum.
  relu: sameKind((x) => compared({ operator: "greater" }, x, zero, x, zero)),
  silu: unary((x) => multiply(x, sigmoid(x))),
  softplus: unary(softplus),
  gelu,
  leaky_relu: ({ input, negative_slope: slope = 0.01 }) =>
    lanewise([floatTensor(input), floatsOf(slope)], (x = zero, a = zero) =>
      compared({ operator: "greater" }, x, zero, x, multiply(a, x)),
    ),
  elu: ({ input, alpha = 1 }) =>
    lanewise([floatTensor(input), floatsOf(alpha)], (x = zero, a = zero) =>
      compared({ operator: "greater" }, x, zero, x, multiply(a, subtract(apply("exp", x), one))),
    ),
  relu6: sameKind(clampTo6),
  hardswish: unary((x) => divide(multiply(x, clampTo6(add(x, real(THREE)))), six)),
  logsigmoid: unary((x) => negate(softplus(negate(x)))),
  mish: unary((x) => multiply(x, apply("tanh", softplus(x)))),
  float: toFloats,
  double: toFloats,
  half: toFloats,
  bfloat16: toFloats,
  to: ({ input, dtype }) =>
    typeof dtype === "string" && /^(?:b?float|fp8|tf)/.test(dtype) ? toFloats({ input }) : noRule("a cast to integers"),
  long: ({ input }) => (tensorOf(input).terms ? tensorOf(input) : noRule("a cast to integers")),
  contiguous: identity,
  clone: identity,
};
