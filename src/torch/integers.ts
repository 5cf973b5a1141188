/**
 * Integers in references. A reference is computed in float64, where integers do not wrap, and are exact up to 2^53 only.
 * So their dtypes are followed, as PyTorch promotes them, and what leaves its dtype wraps.
 */
import { wrapInteger } from "../numerics/numeric-int.js";
import { type DTypeName, dtypeTable, type IntName, isInt, isSigned } from "../types/dtype.js";
import { UnsupportedByEvaluator } from "./errors.js";
import { torchArray, type TorchArray } from "./array.js";
import { type Args, isArray, isDTypeName, type TorchValue } from "./call.js";
import type { TorchFunction } from "./record.js";

/** Whether an argument is a number that the author wrote. */
type IsLiteral = (param: string) => boolean;

export class TorchIntegers {
  readonly #dtypes = new WeakMap<TorchArray, IntName>();

  /**
   * An array of integers, as far as its values are; what leaves the dtype wraps.
   *
   * @throws NotEvaluated if they are not exact.
   */
  of(x: TorchArray, dtype: DTypeName): TorchArray {
    if (!isInt(dtype)) return this.#dtypes.has(x) ? torchArray(x.shape, x.data) : x;
    // NaN, such as a remainder of a division by 0, is no integer.
    if (!x.data.every(Number.isInteger)) return x;
    const wrap = wrapInteger(dtype);
    const inDType = x.data.map((value) => Number(wrap(value)));
    // A negative number wraps to a large one of uint64.
    if (![x.data, inDType].every((data) => data.every(Number.isSafeInteger)))
      throw new UnsupportedByEvaluator(`the reference computes ${dtype} beyond 2^53, which only PyTorch does exactly`);
    const fits = inDType.every((value, i) => value === x.data[i]);
    // An array has one dtype: another one is a copy.
    const known = fits && (this.#dtypes.get(x) ?? dtype) === dtype ? x : torchArray(x.shape, inDType);
    this.#dtypes.set(known, dtype);
    return known;
  }

  /** What a function gets: integers in their promoted dtype, which tensors of no axes do not decide. */
  operands({ integers = [] }: TorchFunction, args: Args, isLiteral: IsLiteral): Args {
    const dtype = this.#promoted(integers, args, isLiteral);
    if (!dtype) return args;
    const cast = (value: TorchValue): TorchValue => (this.#isNarrowed(value, dtype) ? this.of(value, dtype) : value);
    return { ...args, ...Object.fromEntries(integers.map((param) => [param, cast(args[param])])) };
  }

  /** A cast drops high bits; undefined if it is not one of integers to integers. */
  cast(x: TorchValue, dtype: TorchValue): TorchArray | undefined {
    const isKnown = isArray(x) && this.#dtypes.has(x) && isDTypeName(dtype) && isInt(dtype) && dtype !== "int1";
    return isKnown ? this.of(x, dtype) : undefined;
  }

  /** The result of a call as PyTorch has it. Where the dtype is not known, it is as it was computed. */
  result(record: TorchFunction, args: Args, isLiteral: IsLiteral, x: TorchArray): TorchArray {
    // An array that a function gives back as it is may be one of floats now.
    return this.of(x, this.#dtypeOf(record, args, isLiteral) ?? "float64");
  }

  #dtypeOf(record: TorchFunction, args: Args, isLiteral: IsLiteral): DTypeName | undefined {
    const { params, casts, views, truth, integers, widens } = record;
    if (casts) return casts;
    if (isDTypeName(args["dtype"])) return args["dtype"];
    if (truth === "always") return "int1";
    const promoted = this.#promoted(views ? params.slice(0, 1) : (integers ?? []), args, isLiteral);
    return widens && (promoted || integers?.length === 0) ? "int64" : promoted;
  }

  #promoted(params: readonly string[], args: Args, isLiteral: IsLiteral): IntName | undefined {
    // A number with a fraction makes floats of integers, and so does a caller's float that has none.
    const isFloat = (param: string) =>
      typeof args[param] === "number" && !(isLiteral(param) && Number.isInteger(args[param]));
    if (params.some(isFloat)) return undefined;
    const given = params.flatMap((param) => arraysIn(args[param]));
    return promote(given.map((each) => ({ rank: each.shape.length, dtype: this.#dtypes.get(each) })));
  }

  #isNarrowed(value: TorchValue, dtype: IntName): value is TorchArray {
    const own = isArray(value) ? this.#dtypes.get(value) : undefined;
    return own !== undefined && own !== "int1" && own !== dtype;
  }
}

const arraysIn = (value: TorchValue): readonly TorchArray[] =>
  isArray(value) ? [value] : Array.isArray(value) ? value.flatMap(arraysIn) : [];

interface Operand {
  readonly rank: number;
  readonly dtype: IntName | undefined;
}

/** PyTorch's promotion of integers; undefined where one is not known, or where PyTorch has none. */
function promote(operands: readonly Operand[]): IntName | undefined {
  if (operands.some(({ dtype }) => dtype === undefined)) return undefined;
  // Tensors of no axes do not widen others.
  const deciding = operands.some(({ rank }) => rank > 0) ? operands.filter(({ rank }) => rank > 0) : operands;
  const dtypes = [...new Set(deciding.map(({ dtype }) => dtype!).filter((dtype) => dtype !== "int1"))];
  if (dtypes.length <= 1) return dtypes[0];
  const signed = dtypes.filter(isSigned).sort((a, b) => dtypeTable[b].bits - dtypeTable[a].bits);
  const [widest, ...others] = signed;
  const unsigned = dtypes.filter((dtype) => !isSigned(dtype));
  if (!widest || unsigned.some((dtype) => dtype !== "uint8")) return undefined;
  return unsigned.length > 0 && widest === "int8" && others.length === 0 ? "int16" : widest;
}
