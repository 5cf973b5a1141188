/** Values of authors who build without the type checker or cast its errors away. */
import { fail, type Location } from "../diagnostics/diagnostic.js";
import { paramDefault } from "../diagnostics/catalog/param-codes.js";
import { round } from "../numerics/numeric-float.js";
import { type DTypeName, dtypeTable, isInt, isSigned } from "../types/dtype.js";

/** Values of authors who build without the type checker or cast its errors away. */

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const isConstant = (value: unknown): boolean =>
  value === undefined || ["number", "boolean", "string"].includes(typeof value);

/** Describes a value for a message. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return "a function";
  if (typeof value === "object") return Array.isArray(value) ? "an array" : "an object";
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}

// Checks defaults of numbers and flags. Otherwise a call without the argument could fail or use another value.

/** The type of a default: a dtype of run-time numbers, or the kind of a constexpr. */
type DefaultKind = DTypeName | "int" | "float" | "bool";

/** `range` is the declared range of the param. */
export function checkDefault(
  builderName: string,
  value: unknown,
  kind: DefaultKind,
  range: unknown,
  location: Location | undefined,
): void {
  if (value === undefined) return;
  if (!isOfKind(value, kind)) return fail(paramDefault.kind(builderName, kindOf(value), describeKind(kind)), location);
  if (kind === "float" && Object.is(value, -0)) return fail(paramDefault.negativeZero(builderName), location);
  if (!Array.isArray(range)) return;
  const [low, end] = range as readonly unknown[];
  const isBelow = typeof low === "number" && Number(value) < low;
  const isAbove = typeof end === "number" && Number(value) >= end;
  if (isBelow || isAbove) fail(paramDefault.range(builderName, kindOf(value), String(low), String(end)), location);
}

function describeKind(kind: DefaultKind): string {
  if (kind === "int") return "an integer";
  if (kind === "float") return "a number";
  if (kind === "bool") return "true or false";
  if (kind === "int1") return "0 or 1";
  return isInt(kind) ? `an integer that ${kind} holds` : `a number that ${kind} holds`;
}

function isOfKind(value: unknown, kind: DefaultKind): boolean {
  if (typeof value === "boolean") return kind === "bool" || kind === "int1";
  if (kind === "bool" || typeof value !== "number") return false;
  if (kind === "float") return true;
  if (kind === "int") return Number.isInteger(value);
  if (!isInt(kind)) return !Number.isFinite(value) || Number.isFinite(round(kind, { saturate: false })(value));
  const bits = BigInt(dtypeTable[kind].bits - (isSigned(kind) ? 1 : 0));
  if (!Number.isInteger(value)) return false;
  return BigInt(value) < 1n << bits && BigInt(value) >= (isSigned(kind) ? -(1n << bits) : 0n);
}
