/** The dtype that Triton gives to a number with no tile beside it, as measured: `tl.where(mask, 1, 0)`, `count = 0`. */
import type { ConstLike } from "./constexpr.js";
import type { DTypeName } from "./dtype.js";
import type { IsAny } from "./rule-error.js";
import type { Fraction } from "./promote.js";
import { literalValue, type ConstexprType, type Type } from "./types.js";

/** A number, a truth value, or a constexpr of them. */
export type UntypedNumber = number | boolean | ConstLike<any, "int" | "float" | "bool">;

/**
 * int32, float32 for a fraction, int1 for a truth value. JavaScript writes 1 for 1.0, so a whole number is an integer.
 * The checker does not know a number whose type is only `number`, as that of Infinity.
 */
export type LoneDType<X> =
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

/** The same at run time; undefined for what is no number. */
export function defaultDType(type: Type): DTypeName | undefined {
  if (type.kind !== "constexpr") return undefined;
  return type.of === "bool" ? "int1" : type.of === "float" ? "float32" : type.of === "int" ? "int32" : undefined;
}

/** Whether that dtype holds it. Triton would take a wider one for a large literal, so the author names it. */
export function whyLone(op: string, type: ConstexprType): string {
  const value = literalValue(type);
  if (value === undefined || !Number.isFinite(value) || value === 0) return "";
  if (type.of === "int") {
    const fits = value >= -(2 ** 31) && value < 2 ** 31;
    return fits ? "" : `${op}: ${type.text} does not fit int32; write tl.full([], ${type.text}, tl.int64)`;
  }
  const size = Math.abs(value);
  const fits = size >= LEAST_FLOAT32 && size <= GREATEST_FLOAT32;
  return fits ? "" : `${op}: ${type.text} does not fit float32; write tl.full([], ${type.text}, tl.float64)`;
}

/** The normal numbers of float32. */
const LEAST_FLOAT32 = 2 ** -126;
const GREATEST_FLOAT32 = (2 - 2 ** -23) * 2 ** 127;
