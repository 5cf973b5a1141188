/**
 * The dtype that Triton infers for a number without a tile operand, as measured: `tl.where(mask, 1, 0)`, `count = 0`.
 */
import { numberType } from "../diagnostics/catalog/rule-codes.js";
import type { ConstLike } from "./constexpr.js";
import type { DTypeName } from "./dtype.js";
import { LIMITS } from "./limits.js";
import type { IsAny, RuleError } from "./rule-error.js";
import type { Fraction } from "./promote.js";
import { literalValue, type ConstexprType, type Type } from "./types.js";

/** A number, a boolean, or a constexpr of either. */
export type UntypedNumber = number | boolean | ConstLike<any, "int" | "float" | "bool">;

/**
 * int32, float32 for a fraction, int1 for a boolean. JavaScript does not distinguish 1.0 from 1, so a whole number is
 * an integer. The result is `any` for a number of type `number`, such as Infinity.
 */
export type DefaultDType<X> =
  IsAny<X> extends true
    ? any
    : X extends boolean | ConstLike<any, "bool">
      ? "int1"
      : X extends ConstLike<any, "float">
        ? "float32"
        : X extends number
          ? number extends X
            ? any
            : `${X}` extends Fraction
              ? "float32"
              : "int32"
          : "int32";

/** The same at run time. Undefined if the type is not that of a number. */
export function defaultDType(type: Type): DTypeName | undefined {
  return type.kind === "constexpr" ? DEFAULT_DTYPES[type.of] : undefined;
}
const DEFAULT_DTYPES: Readonly<Partial<Record<ConstexprType["of"], DTypeName>>> = {
  bool: "int1",
  float: "float32",
  int: "int32",
};

/** Checks the range of the default dtype. Triton would choose a wider one for a large literal, so the author must. */
export function whyDefaultDType(op: string, type: ConstexprType): RuleError | undefined {
  const value = literalValue(type);
  if (value === undefined || !Number.isFinite(value) || value === 0) return undefined;
  if (type.of === "int") {
    const isInRange = value >= -LIMITS.int32End && value < LIMITS.int32End;
    return isInRange
      ? undefined
      : numberType(`${op}: ${type.text} does not fit int32`, `write tl.full([], ${type.text}, tl.int64)`);
  }
  const magnitude = Math.abs(value);
  const isInRange = magnitude >= MIN_NORMAL_FLOAT32 && magnitude <= MAX_FLOAT32;
  return isInRange
    ? undefined
    : numberType(`${op}: ${type.text} does not fit float32`, `write tl.full([], ${type.text}, tl.float64)`);
}

/** The range of normal numbers of float32. */
const MIN_NORMAL_FLOAT32 = 2 ** -126;
const MAX_FLOAT32 = (2 - 2 ** -23) * 2 ** 127;
