/** Comparisons, logical and bitwise functions, and selection by booleans. */
import { zip } from "./array.js";
import { array, elementwise, pairwise } from "./call.js";
import { both, inTorch, type TorchFunction, type Unary } from "./record.js";
import type { TorchNumber, TorchOperand, TorchTensor } from "./values.js";

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
