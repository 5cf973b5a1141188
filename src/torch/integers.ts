/**
 * Integers in references. References are evaluated in float64, where integers do not wrap and are exact only up to
 * 2^53. This module tracks integer dtypes by PyTorch's promotion rules, and wraps results that leave their dtype.
 */
import { wrapInteger } from "../numerics/numeric-int.js";
import { type DTypeName, dtypeTable, type IntName, isInt, isSigned } from "../types/dtype.js";
import { UnsupportedByEvaluator } from "./errors.js";
import { torchArray, type TorchArray, type Args, type TorchValue } from "./array.js";
import { isArray, isDTypeName } from "./call.js";
import type { TorchFunction } from "./record.js";

/** True if an argument is a literal of the author. */
type IsLiteral = (param: string) => boolean;

export class TorchIntegers {
  readonly #dtypes = new WeakMap<TorchArray, IntName>();

  /**
   * Marks an array as integers of a dtype, if its values are integers. Values out of range wrap.
   *
   * @throws UnsupportedByEvaluator if the integers are not exact.
   */
  withDType(x: TorchArray, dtype: DTypeName): TorchArray {
    if (!isInt(dtype)) return this.#dtypes.has(x) ? torchArray(x.shape, x.data) : x;
    // NaN, such as the remainder of a division by 0, is not an integer.
    if (!x.data.every(Number.isInteger)) return x;
    const wrap = wrapInteger(dtype);
    const wrapped = x.data.map((value) => Number(wrap(value)));
    // A negative number wraps to a large uint64.
    if (![x.data, wrapped].every((data) => data.every(Number.isSafeInteger)))
      throw new UnsupportedByEvaluator(`the reference computes ${dtype} beyond 2^53, which only PyTorch does exactly`);
    const fits = wrapped.every((value, i) => value === x.data[i]);
    // An array has one dtype, so another dtype needs a copy.
    const result = fits && (this.#dtypes.get(x) ?? dtype) === dtype ? x : torchArray(x.shape, wrapped);
    this.#dtypes.set(result, dtype);
    return result;
  }

  /**
   * The arguments of a function, with integers in their promoted dtype. Zero-dimensional tensors do not affect
   * promotion.
   */
  promoteOperands({ integers = [] }: TorchFunction, args: Args, isLiteral: IsLiteral): Args {
    const dtype = this.#promotedDType(integers, args, isLiteral);
    if (!dtype) return args;
    const cast = (value: TorchValue): TorchValue =>
      this.#isNarrowed(value, dtype) ? this.withDType(value, dtype) : value;
    return { ...args, ...Object.fromEntries(integers.map((param) => [param, cast(args[param])])) };
  }

  /** A cast between integer dtypes, which drops high bits. Undefined for other casts. */
  cast(x: TorchValue, dtype: TorchValue): TorchArray | undefined {
    const isIntegerCast = isArray(x) && this.#dtypes.has(x) && isDTypeName(dtype) && isInt(dtype) && dtype !== "int1";
    return isIntegerCast ? this.withDType(x, dtype) : undefined;
  }

  /** The result of a call with PyTorch's integer dtype. If the dtype is unknown, the result stays as computed. */
  result(record: TorchFunction, args: Args, isLiteral: IsLiteral, x: TorchArray): TorchArray {
    // An array that a function returns unchanged may now be floats.
    return this.withDType(x, this.#dtypeOf(record, args, isLiteral) ?? "float64");
  }

  #dtypeOf(record: TorchFunction, args: Args, isLiteral: IsLiteral): DTypeName | undefined {
    const { params, castDType, isView, truth, integers, isWidening } = record;
    if (castDType) return castDType;
    if (isDTypeName(args["dtype"])) return args["dtype"];
    if (truth === "always") return "int1";
    const promoted = this.#promotedDType(isView ? params.slice(0, 1) : (integers ?? []), args, isLiteral);
    return isWidening && (promoted || integers?.length === 0) ? "int64" : promoted;
  }

  #promotedDType(params: readonly string[], args: Args, isLiteral: IsLiteral): IntName | undefined {
    // A fraction promotes integers to floats. So does a caller's float, even without a fraction.
    const isFloat = (param: string) =>
      typeof args[param] === "number" && !(isLiteral(param) && Number.isInteger(args[param]));
    if (params.some(isFloat)) return undefined;
    const arrays = params.flatMap((param) => arraysIn(args[param]));
    return promote(arrays.map((each) => ({ rank: each.shape.length, dtype: this.#dtypes.get(each) })));
  }

  #isNarrowed(value: TorchValue, dtype: IntName): value is TorchArray {
    const currentDType = isArray(value) ? this.#dtypes.get(value) : undefined;
    return currentDType !== undefined && currentDType !== "int1" && currentDType !== dtype;
  }
}

function arraysIn(value: TorchValue): readonly TorchArray[] {
  if (isArray(value)) return [value];
  return Array.isArray(value) ? value.flatMap(arraysIn) : [];
}

interface Operand {
  readonly rank: number;
  readonly dtype: IntName | undefined;
}

/** PyTorch's promotion of integers. Undefined if a dtype is unknown, or if PyTorch has no common dtype. */
function promote(operands: readonly Operand[]): IntName | undefined {
  if (operands.some(({ dtype }) => dtype === undefined)) return undefined;
  // Zero-dimensional tensors do not widen others.
  const decidingOperands = operands.some(({ rank }) => rank > 0) ? operands.filter(({ rank }) => rank > 0) : operands;
  const dtypes = [
    ...new Set(decidingOperands.flatMap(({ dtype }) => (dtype === undefined || dtype === "int1" ? [] : [dtype]))),
  ];
  if (dtypes.length <= 1) return dtypes[0];
  const signed = dtypes.filter(isSigned).sort((a, b) => dtypeTable[b].bits - dtypeTable[a].bits);
  const [widest, ...others] = signed;
  const unsigned = dtypes.filter((dtype) => !isSigned(dtype));
  if (!widest || unsigned.some((dtype) => dtype !== "uint8")) return undefined;
  return unsigned.length > 0 && widest === "int8" && others.length === 0 ? "int16" : widest;
}
