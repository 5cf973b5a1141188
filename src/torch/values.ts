/** What stands for torch's values in a reference: tensors, numbers, dtypes. Names are torch's own. */
import type { DType } from "../types/dtype.js";
import type { ForeignCalls, foreignToNumbers } from "../types/unsupported-names.js";

/** A number, or a recorded one: a size, a scalar argument. */
export type TorchNumber = number | TorchScalar;
/** What a tensor is added to, compared with, and so on. */
export type TorchOperand = TorchTensor | TorchNumber;
/** A dtype: the kernel's own (also a dtype variable), or torch's by name. */
export type TorchDType = DType<any> | string;
/** An axis, counted from the end where it is below 0, or several. */
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

/** A size, scalar or constexpr argument: a plain number in Python. `M.mul(K)` is written `M * K`. */
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
  /** One of two, by a flag or a comparison: `CAUSAL.choose(a, b)` is written `a if CAUSAL else b`. */
  choose(then: TorchTensor, otherwise: TorchTensor): TorchTensor;
  choose(then: TorchNumber, otherwise: TorchNumber): TorchScalar;
}

/** A tensor that the caller may leave out. */
export interface OptionalTorchTensor extends TorchTensor {
  /** Another in its place where it is left out: `1 if bias is None else bias`. */
  otherwise(fallback: TorchTensor): TorchTensor;
}

/** A tensor of torch. Its methods come from the records of torch's functions. */
export interface TorchTensor {
  readonly [$torch]: "tensor";
  readonly T: TorchTensor;
  readonly mT: TorchTensor;
  readonly dtype: TorchDType;
  readonly device: string;
}
