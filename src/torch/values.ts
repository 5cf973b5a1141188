/** Types of torch values in a reference: tensors, numbers, dtypes. Names are torch's own. */
import type { DType } from "../types/dtype.js";
import type { ForeignCalls, foreignToNumbers } from "../types/unsupported-names.js";

/** A number literal, or a recorded number such as a size or a scalar argument. */
export type TorchNumber = number | TorchScalar;
/** An operand of arithmetic and comparisons: a tensor or a number. */
export type TorchOperand = TorchTensor | TorchNumber;
/** A dtype: a TileScript dtype or dtype variable, or a torch dtype by name. */
export type TorchDType = DType<any> | string;
/** One axis or several. Negative axes count from the end. */
export type TorchAxis = number | readonly number[];
export type TorchShape = readonly TorchNumber[];
/** Several results in order. */
export type TorchPieces = readonly TorchTensor[];

declare const $torch: unique symbol;

/** Two results in order, which torch also names. */
export interface TorchPair extends Iterable<TorchTensor> {
  readonly 0: TorchTensor;
  readonly 1: TorchTensor;
  readonly values: TorchTensor;
  readonly indices: TorchTensor;
}

/** A size, scalar or constexpr argument: a plain number in Python. `M.mul(K)` is emitted as `M * K`. */
export interface TorchScalar extends ForeignCalls<typeof foreignToNumbers, "a number of a reference"> {
  readonly [$torch]: "scalar";
  add(other: TorchNumber): TorchScalar;
  sub(other: TorchNumber): TorchScalar;
  mul(other: TorchNumber): TorchScalar;
  div(other: TorchNumber): TorchScalar;
  floorDiv(other: TorchNumber): TorchScalar;
  mod(other: TorchNumber): TorchScalar;
  pow(other: TorchNumber): TorchScalar;
  eq(other: TorchNumber | string): TorchScalar;
  ne(other: TorchNumber | string): TorchScalar;
  lt(other: TorchNumber): TorchScalar;
  le(other: TorchNumber): TorchScalar;
  gt(other: TorchNumber): TorchScalar;
  ge(other: TorchNumber): TorchScalar;
  /** Selects one of two values by a flag or a comparison: `CAUSAL.choose(a, b)` is emitted as `a if CAUSAL else b`. */
  choose(then: TorchTensor, otherwise: TorchTensor): TorchTensor;
  choose(then: TorchNumber, otherwise: TorchNumber): TorchScalar;
}

/** A tensor that the caller may omit. */
export interface OptionalTorchTensor extends TorchTensor {
  /** Replaces an omitted tensor: `1 if bias is None else bias`. */
  otherwise(fallback: TorchTensor): TorchTensor;
}

/** A torch tensor. Its methods come from the table of torch functions. */
export interface TorchTensor {
  readonly [$torch]: "tensor";
  readonly T: TorchTensor;
  readonly mT: TorchTensor;
  readonly dtype: TorchDType;
  readonly device: string;
}
