/** Defaults of numbers and flags: a call that leaves the argument out would be refused, or compute with another value. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { paramDefault } from "../diagnostics/catalog/param-codes.js";
import { round } from "../numerics/numeric-float.js";
import { type DTypeName, dtypeTable, isInt, isSigned } from "../types/dtype.js";
import { kindOf } from "./spec-forms.js";

/** What a default stands for: a dtype of run-time numbers, or the kind of a constexpr. */
export type DefaultKind = DTypeName | "int" | "float" | "bool";

/** `what` declares the param, `range` is what it was declared with. */
export function checkDefault(
  what: string,
  given: unknown,
  of: DefaultKind,
  range: unknown,
  at: Location | undefined,
): void {
  if (given === undefined) return;
  if (!fits(given, of)) return fail(paramDefault.kind(what, kindOf(given), wanted(of)), at);
  if (of === "float" && Object.is(given, -0)) return fail(paramDefault.negativeZero(what), at);
  if (!Array.isArray(range)) return;
  const [low, end] = range as readonly unknown[];
  const isBelow = typeof low === "number" && Number(given) < low;
  const isAbove = typeof end === "number" && Number(given) >= end;
  if (isBelow || isAbove) fail(paramDefault.range(what, kindOf(given), String(low), String(end)), at);
}

function wanted(of: DefaultKind): string {
  if (of === "int") return "an integer";
  if (of === "float") return "a number";
  if (of === "bool") return "true or false";
  if (of === "int1") return "0 or 1";
  return isInt(of) ? `an integer that ${of} holds` : `a number that ${of} holds`;
}

function fits(given: unknown, of: DefaultKind): boolean {
  if (typeof given === "boolean") return of === "bool" || of === "int1";
  if (of === "bool" || typeof given !== "number") return false;
  if (of === "float") return true;
  if (of === "int") return Number.isInteger(given);
  if (!isInt(of)) return !Number.isFinite(given) || Number.isFinite(round(of, { saturate: false })(given));
  const bits = BigInt(dtypeTable[of].bits - (isSigned(of) ? 1 : 0));
  if (!Number.isInteger(given)) return false;
  return BigInt(given) < 1n << bits && BigInt(given) >= (isSigned(of) ? -(1n << bits) : 0n);
}
