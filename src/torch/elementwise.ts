/** Elementwise functions: arithmetic, comparisons and activations. */
import { erf, roundHalfEven } from "../numerics/special.js";
import { map, type TorchArray, zip, sizeAt, type Args, TorchError } from "./array.js";
import {
  both,
  overloaded,
  type Unary,
  everywhere,
  functional,
  inTorch,
  type TorchFunction,
  array,
  elementwise,
  number,
  pairwise,
  axisOrDefault,
} from "./record.js";
import type { TorchNumber, TorchOperand, TorchScalar, TorchTensor } from "./values.js";
import { narrow } from "./indexing.js";

// Two numbers are Python numbers, for which torch has no function. They are emitted with the operator.
interface Binary {
  (input: TorchNumber, other: TorchNumber): TorchScalar;
  (input: TorchOperand, other: TorchOperand): TorchTensor;
}
type BinaryMethod = (other: TorchOperand) => TorchTensor;
interface Quotient {
  /** The quotient of two numbers. */
  (input: TorchNumber, other: TorchNumber): TorchScalar;
  /** The quotient. With `rounding_mode` it is an integer. */
  (input: TorchOperand, other: TorchOperand, keywords?: Rounding): TorchTensor;
}
type QuotientMethod = (other: TorchOperand, keywords?: Rounding) => TorchTensor;
interface Rounding {
  rounding_mode?: "trunc" | "floor";
}
type TensorBinary = (input: TorchTensor, other: TorchOperand) => TorchTensor;
type TwoTensors = (input: TorchTensor, other: TorchTensor) => TorchTensor;

/** Booleans stay booleans. */
const BOTH_OPERANDS = { truth: ["input", "other"], integers: ["input", "other"] };
const INTEGERS = { integers: ["input", "other"] };
const INTEGER = { integers: ["input"] };

export const arithmetic = {
  add: overloaded<Binary, BinaryMethod>(pairwise((x, y) => x + y, BOTH_OPERANDS)),
  sub: overloaded<Binary, BinaryMethod>(pairwise((x, y) => x - y, INTEGERS)),
  mul: overloaded<Binary, BinaryMethod>(pairwise((x, y) => x * y, BOTH_OPERANDS)),
  /** The quotient. With `rounding_mode` it is an integer. */
  div: overloaded<Quotient, QuotientMethod>({
    params: ["input", "other", "rounding_mode"],
    run: ({ input, other, rounding_mode: mode }) => {
      const operands: [TorchArray, TorchArray] = [array(input), array(other)];
      if (mode === "trunc") return zip(operands, (x, y) => Math.trunc(x / y));
      return zip(operands, mode === "floor" ? (x, y) => Math.floor(x / y) : (x, y) => x / y);
    },
  }),
  /** The remainder, with the divisor's sign. */
  remainder: both<TensorBinary>(pairwise((x, y) => x - y * Math.floor(x / y), INTEGERS)),
  /** The remainder, with the dividend's sign. */
  fmod: both<TensorBinary>(pairwise((x, y) => x % y, INTEGERS)),
  floor_divide: both<TensorBinary>(pairwise((x, y) => Math.floor(x / y), INTEGERS)),
  pow: both<(input: TorchTensor, exponent: TorchOperand) => TorchTensor>({
    params: ["input", "exponent"],
    run: ({ input, exponent }) => zip([array(input), array(exponent)], (x, y) => x ** y),
    integers: ["input", "exponent"],
  }),
  atan2: both<TwoTensors>(pairwise(Math.atan2)),
  hypot: both<TwoTensors>(pairwise(Math.hypot)),
  maximum: both<TwoTensors>(pairwise(Math.max, BOTH_OPERANDS)),
  minimum: both<TwoTensors>(pairwise(Math.min, BOTH_OPERANDS)),
  /** `start + weight * (end - start)` */
  lerp: both<(input: TorchTensor, end: TorchTensor, weight: TorchOperand) => TorchTensor>({
    params: ["input", "end", "weight"],
    run: ({ input, end, weight }) =>
      zip([array(input), array(end), array(weight)], (x, y, share) => x + share * (y - x)),
  }),
  clamp: both<(input: TorchTensor, min?: TorchNumber, max?: TorchNumber) => TorchTensor>({
    params: ["input", "min", "max"],
    run: ({ input, min, max }) => {
      if ((min ?? max ?? undefined) === undefined) throw new TorchError("it needs min or max");
      return zip([array(input), array(min ?? -Infinity), array(max ?? Infinity)], (x, low, high) =>
        Math.min(Math.max(x, low), high),
      );
    },
    ...INTEGER,
  }),
  /** Replaces NaN and infinities by numbers. By default, infinities become the largest finite numbers. */
  nan_to_num: both<(input: TorchTensor, nan?: TorchNumber, posinf?: TorchNumber, neginf?: TorchNumber) => TorchTensor>({
    params: ["input", "nan", "posinf", "neginf"],
    run: ({ input, nan, posinf, neginf }) =>
      map(array(input), (x) => {
        if (Number.isNaN(x)) return number(nan, 0);
        if (x === Infinity) return number(posinf, Number.MAX_VALUE);
        return x === -Infinity ? number(neginf, -Number.MAX_VALUE) : x;
      }),
  }),
  neg: both<Unary>(elementwise((x) => -x, INTEGER)),
  abs: both<Unary>(elementwise(Math.abs, INTEGER)),
  sign: both<Unary>(elementwise((x) => (Number.isNaN(x) ? 0 : Math.sign(x)), { truth: ["input"], ...INTEGER })),
  reciprocal: both<Unary>(elementwise((x) => 1 / x)),
  square: both<Unary>(elementwise((x) => x * x, INTEGER)),
  sqrt: both<Unary>(elementwise(Math.sqrt)),
  rsqrt: both<Unary>(elementwise((x) => 1 / Math.sqrt(x))),
  exp: both<Unary>(elementwise(Math.exp)),
  exp2: both<Unary>(elementwise((x) => 2 ** x)),
  expm1: both<Unary>(elementwise(Math.expm1)),
  log: both<Unary>(elementwise(Math.log)),
  log2: both<Unary>(elementwise(Math.log2)),
  log10: both<Unary>(elementwise(Math.log10)),
  log1p: both<Unary>(elementwise(Math.log1p)),
  sin: both<Unary>(elementwise(Math.sin)),
  cos: both<Unary>(elementwise(Math.cos)),
  tan: both<Unary>(elementwise(Math.tan)),
  asin: both<Unary>(elementwise(Math.asin)),
  acos: both<Unary>(elementwise(Math.acos)),
  atan: both<Unary>(elementwise(Math.atan)),
  sinh: both<Unary>(elementwise(Math.sinh)),
  cosh: both<Unary>(elementwise(Math.cosh)),
  tanh: both<Unary>(elementwise(Math.tanh)),
  erf: both<Unary>(elementwise(erf)),
  floor: both<Unary>(elementwise(Math.floor)),
  ceil: both<Unary>(elementwise(Math.ceil)),
  /** Rounds to the nearest integer, ties to even. */
  round: both<Unary>(elementwise(roundHalfEven)),
  trunc: both<Unary>(elementwise(Math.trunc)),
};

// Activation functions. All are elementwise, except `glu`.

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x));
/** `log(1 + exp(x))`, computed without overflow. */
export const softplus = (x: number): number => (x > 0 ? x + Math.log1p(Math.exp(-x)) : Math.log1p(Math.exp(x)));
const gelu = (x: number): number => 0.5 * x * (1 + erf(x * Math.SQRT1_2));
const geluTanh = (x: number): number => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));

/** The first half of an axis, multiplied by the sigmoid of the second half. */
function glu({ input, dim }: Args): TorchArray {
  const x = array(input);
  const axis = axisOrDefault(dim, -1, x);
  const half = sizeAt(x, axis) / 2;
  if (!Number.isInteger(half)) throw new TorchError(`an axis of ${sizeAt(x, axis)} elements has no half`);
  return zip([narrow(x, axis, 0, half), narrow(x, axis, half, half)], (value, gate) => value / (1 + Math.exp(-gate)));
}

export const activations = {
  sigmoid: both<Unary>(elementwise(sigmoid)),
  relu: everywhere<Unary>(elementwise((x) => (x < 0 ? 0 : x))),
  silu: functional<Unary>(elementwise((x) => x * sigmoid(x))),
  softplus: functional<Unary>(elementwise((x) => (x > 20 ? x : Math.log1p(Math.exp(x))))),
  gelu: functional<(input: TorchTensor, keywords?: { approximate?: "none" | "tanh" }) => TorchTensor>({
    params: ["input", "approximate"],
    run: ({ input, approximate }) => map(array(input), approximate === "tanh" ? geluTanh : gelu),
  }),
  leaky_relu: functional<(input: TorchTensor, negative_slope?: TorchNumber) => TorchTensor>({
    params: ["input", "negative_slope"],
    run: ({ input, negative_slope: slope }) => map(array(input), (x) => (x < 0 ? x * number(slope, 0.01) : x)),
  }),
  elu: functional<(input: TorchTensor, alpha?: TorchNumber) => TorchTensor>({
    params: ["input", "alpha"],
    run: ({ input, alpha }) => map(array(input), (x) => (x > 0 ? x : number(alpha, 1) * Math.expm1(x))),
  }),
  relu6: functional<Unary>(elementwise((x) => Math.min(Math.max(x, 0), 6))),
  hardswish: functional<Unary>(elementwise((x) => (x * Math.min(Math.max(x + 3, 0), 6)) / 6)),
  logsigmoid: functional<Unary>(elementwise((x) => -softplus(-x))),
  mish: functional<Unary>(elementwise((x) => x * Math.tanh(softplus(x)))),
  /** The first half of an axis, multiplied by the sigmoid of the second half. */
  glu: functional<(input: TorchTensor, dim?: number) => TorchTensor>({ params: ["input", "dim"], run: glu }),
};

// Comparisons, logical and bitwise functions, and selection by booleans.

type Comparison = (input: TorchTensor, other: TorchOperand) => TorchTensor;
type Logic = (input: TorchTensor, other: TorchTensor) => TorchTensor;

const compare = (f: (x: number, y: number) => boolean): TorchFunction =>
  pairwise((x, y) => Number(f(x, y)), { truth: "always", integers: ["input", "other"] });
const test = (f: (x: number) => boolean): TorchFunction => elementwise((x) => Number(f(x)), { truth: "always" });
/** Operates on integers that a float64 represents exactly, which can have more than 32 bits. */
const bits = (f: (x: bigint, y: bigint) => bigint): TorchFunction =>
  pairwise((x, y) => Number(f(BigInt(x), BigInt(y))), { truth: ["input", "other"], integers: ["input", "other"] });

export const comparison = {
  lt: both<Comparison>(compare((x, y) => x < y)),
  le: both<Comparison>(compare((x, y) => x <= y)),
  gt: both<Comparison>(compare((x, y) => x > y)),
  ge: both<Comparison>(compare((x, y) => x >= y)),
  eq: both<Comparison>(compare((x, y) => x === y)),
  ne: both<Comparison>(compare((x, y) => x !== y)),
  isnan: both<Unary>(test(Number.isNaN)),
  isinf: both<Unary>(test((x) => Math.abs(x) === Infinity)),
  isfinite: both<Unary>(test(Number.isFinite)),
  logical_and: both<Logic>(compare((x, y) => x !== 0 && y !== 0)),
  logical_or: both<Logic>(compare((x, y) => x !== 0 || y !== 0)),
  logical_xor: both<Logic>(compare((x, y) => (x !== 0) !== (y !== 0))),
  logical_not: both<Unary>(test((x) => x === 0)),
  bitwise_and: both<Comparison>(bits((x, y) => x & y)),
  bitwise_or: both<Comparison>(bits((x, y) => x | y)),
  bitwise_xor: both<Comparison>(bits((x, y) => x ^ y)),
  bitwise_right_shift: both<Comparison>(pairwise((x, y) => Math.floor(x / 2 ** y), { integers: ["input", "other"] })),
  /** `input` where the condition is true, and `other` elsewhere. */
  where: inTorch<(condition: TorchTensor, input: TorchOperand, other: TorchOperand) => TorchTensor>({
    params: ["condition", "input", "other"],
    run: ({ condition, input, other }) => zip([array(condition), array(input), array(other)], (c, x, y) => (c ? x : y)),
    truth: ["input", "other"],
    integers: ["input", "other"],
  }),
  masked_fill: both<(input: TorchTensor, mask: TorchTensor, value: TorchNumber) => TorchTensor>({
    params: ["input", "mask", "value"],
    run: ({ input, mask, value }) => zip([array(input), array(mask), array(value)], (x, m, v) => (m ? v : x)),
    truth: ["input"],
    integers: ["input"],
  }),
};
