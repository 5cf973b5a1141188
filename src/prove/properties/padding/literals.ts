/** Types as the padding analysis distinguishes them, and the number classes of their literals. */
import type { OpStatement } from "../../../ir/nodes.js";
import { type NumberClasses, classify } from "../../../symbolic/number-class.js";
import { dtypeTable, isInt, isUnsigned, members } from "../../../types/dtype.js";
import type { Type } from "../../../types/types.js";

/** The type of a statement's first result. */
export const typeOfResult = ({ results: [result] }: OpStatement): Type => result?.type ?? { kind: "none" };

export function isFloatType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).some((name) => !isInt(name));
}

export function isIntegerType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).every(isInt);
}

export function isTruthType(type: Type): boolean {
  return type.kind === "tile" && members(type.dtype).every((name) => name === "int1");
}

/** The class of a literal of a dtype: the ends of an integer dtype are its lowest and highest number. */
export const classifyLiteral = (value: number | bigint | boolean | string, type: Type): NumberClasses =>
  classify(typeof value === "string" ? NaN : Number(value), ...endsOf(type));

/** The lowest and the highest number of a type; the infinities for floats, and where the dtype is not known. */
export function endsOf(type: Type): readonly [number, number] {
  const [dtype, ...others] = type.kind === "tile" && !isFloatType(type) ? members(type.dtype) : [];
  if (!dtype || others.length > 0 || dtype === "int1") return [-Infinity, Infinity];
  const { bits } = dtypeTable[dtype];
  return isUnsigned(dtype) ? [0, 2 ** bits - 1] : [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1];
}
