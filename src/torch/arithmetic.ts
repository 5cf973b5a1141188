/** Elementwise arithmetic of one or two tensors. */
import { TorchError } from "./errors.js";
import { erf, roundHalfEven } from "../numerics/special.js";
import { map, type TorchArray, zip } from "./array.js";
import { array, elementwise, number, pairwise } from "./call.js";
import { both, overloaded, type Unary } from "./record.js";
import type { TorchNumber, TorchOperand, TorchScalar, TorchTensor } from "./values.js";

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
