/** What a piece of Python becomes: its TypeScript, and what is known of it while the text is written. */
import { dtypeTable, type DTypeName, isInt } from "../types/dtype.js";
import type { Described, Expression, GlobalBinding, WireConstant } from "./tree.js";

export type Value =
  /** A number of JavaScript; `isFloat` says that Python has a float, which `1` does not show. */
  | { readonly kind: "number"; readonly text: string; readonly value: number | bigint; readonly isFloat: boolean }
  | { readonly kind: "truth"; readonly text: string; readonly value: boolean }
  | { readonly kind: "string"; readonly text: string; readonly value: string }
  | { readonly kind: "none"; readonly text: string }
  | { readonly kind: "dtype"; readonly text: string }
  | { readonly kind: "list"; readonly text: string; readonly items: readonly Value[] }
  | { readonly kind: "function"; readonly text: string; readonly name: string }
  | { readonly kind: "helper"; readonly text: string; readonly number: number }
  /** A statement that nothing is left of. */
  | { readonly kind: "nothing"; readonly text: string }
  /**
   * A handle: a tile, a pointer, a constexpr, or a condition on them. Triton knows a constant when it compiles; `of` is
   * the Python type of a parameter that is one, and else says whether it is a pointer or a scalar.
   */
  | { readonly kind: "traced"; readonly text: string; readonly isConstant?: boolean; readonly of?: string };

export type Traced = Extract<Value, { readonly kind: "traced" }>;

/** Why a kernel is not imported. */
export class UnsupportedConstruct extends Error {
  override readonly name = "NotImported";
  /** A line of the function's own source, and of the file once `inside` says which function that is. */
  line: number | undefined;
  inside: string | undefined;
  constructor(reason: string, at?: { readonly line: number }) {
    super(reason);
    this.line = at?.line;
  }
}

export const traced = (text: string, isConstant = false): Value => ({
  kind: "traced",
  text,
  ...(isConstant && { isConstant }),
});
export const isConstant = (value: Value): boolean =>
  value.kind === "traced" ? value.isConstant === true : value.kind !== "nothing";

/** Whether Triton knows a value when it compiles: as it said, or, in code that no call reaches, as its parts say. */
export const isKnown = (value: Value, from: Pick<Expression, "types">): boolean =>
  from.types.length > 0 ? constantKind(from) !== undefined : isConstant(value);
export const NONE: Value = { kind: "none", text: "null" };
export const NO_VALUE: Value = { kind: "nothing", text: "" };
export const truth = (value: boolean): Value => ({ kind: "truth", text: String(value), value });
export const string = (value: string): Value => ({ kind: "string", text: JSON.stringify(value), value });
export const dtypeValue = (name: string): Value => ({ kind: "dtype", text: `tl.${dtypeName(name)}` });
/** A JavaScript value as a scalar of a dtype, and a handle cast to it. */
export const cast = (value: Value, dtype: string): Value =>
  value.kind === "traced"
    ? traced(`${value.text}.to(${dtype})`)
    : traced(`tl.full([], ${value.kind === "truth" ? Number(value.value) : value.text}, ${dtype})`);
export const list = (items: readonly Value[]): Value => ({
  kind: "list",
  text: `[${items.map(({ text }) => text).join(", ")}]`,
  items,
});

export function number(value: number | bigint, isFloat: boolean): Value {
  const isWide = typeof value === "number" && !isFloat && !Number.isSafeInteger(value);
  const text = isWide ? `${BigInt(value)}n` : typeof value === "bigint" ? `${value}n` : String(value);
  return { kind: "number", text, value, isFloat };
}

/** A constant of Python. Integers beyond 2^53 and infinities arrive as text. */
export function constant(of: string, value: WireConstant): Value | undefined {
  if (of === "NoneType") return NONE;
  if (of === "bool") return truth(Boolean(value));
  if (of === "str") return string(String(value));
  if (of === "int") return number(typeof value === "string" ? BigInt(value) : Number(value), false);
  if (of === "float") return number(typeof value === "string" ? floatOf(value) : Number(value), true);
  return undefined;
}

const floatOf = (text: string): number => Number(text.replace("inf", "Infinity"));

export function knownValue(known: GlobalBinding): Value | undefined {
  switch (known.what) {
    case "constant":
      return constant(known.of, known.value);
    case "dtype":
      return dtypeValue(known.dtype);
    case "function":
      return { kind: "function", text: known.name, name: known.name };
    case "helper":
      return { kind: "helper", text: known.name, number: known.number };
    case "list": {
      const items = known.items.map(knownValue);
      return items.every((item) => item !== undefined) ? list(items) : undefined;
    }
    default:
      return undefined;
  }
}

/** Triton's names of dtypes beside those of the table. */
const SHORT: Readonly<Record<string, DTypeName>> = {
  fp16: "float16",
  bf16: "bfloat16",
  fp32: "float32",
  fp64: "float64",
  fp8e4nv: "float8e4nv",
  fp8e5: "float8e5",
  fp8e4b15: "float8e4b15",
  fp8e4b8: "float8e4b8",
  fp8e5b16: "float8e5b16",
  i1: "int1",
  u1: "int1",
  i8: "int8",
  i16: "int16",
  i32: "int32",
  i64: "int64",
  u8: "uint8",
  u16: "uint16",
  u32: "uint32",
  u64: "uint64",
};

export const SHORT_NAMES: readonly string[] = Object.keys(SHORT);

export function dtypeName(name: string): DTypeName {
  if (name in dtypeTable) return name as DTypeName;
  return SHORT[name] ?? notADType(name);
}

export const isDTypeName = (name: string): boolean => name in dtypeTable || name in SHORT;

function notADType(name: string): never {
  throw new UnsupportedConstruct(`TileScript has no dtype ${name}`);
}

/**
 * The element type of an expression: a dtype's name, or all that Triton met it with, as text in a fixed order. Undefined
 * for what has none.
 */
export function elementOf(expression: Pick<Expression, "types"> | undefined): string | undefined {
  const found = (expression?.types ?? []).flatMap((type) =>
    type.kind === "tile" || type.kind === "pointer" || type.kind === "descriptor" ? [dtypeName(type.dtype)] : [],
  );
  return found.length > 0 ? elementText(found) : undefined;
}

/** Several dtypes as one text. */
export const elementText = (names: readonly DTypeName[]): string => [...new Set(names)].sort().join(" ");

/** Whether all dtypes of an element type are integers. */
export const isIntElement = (element: string): boolean =>
  element !== "int1" && element.split(" ").every((name) => isInt(name as DTypeName));

export function rankOf(expression: Pick<Expression, "types"> | undefined): number | undefined {
  const found = new Set((expression?.types ?? []).flatMap((type) => ("shape" in type ? [type.shape.length] : [])));
  return found.size === 1 ? [...found][0] : undefined;
}

/** The kind of an expression, if Triton met it with one alone. */
export function kindOf(expression: Pick<Expression, "types"> | undefined): Described["kind"] | undefined {
  const found = new Set((expression?.types ?? []).map(({ kind }) => kind));
  return found.size === 1 ? [...found][0] : undefined;
}

/** The constant that an expression always was while Triton compiled. */
export function constantOf(expression: Pick<Expression, "types"> | undefined): Value | undefined {
  const [type, ...others] = expression?.types ?? [];
  return type?.kind === "constant" && others.length === 0 ? constant(type.of, type.value) : undefined;
}

/** What a constant expression is of, whatever its value: `int`, `bool`. */
export function constantKind(expression: Pick<Expression, "types"> | undefined): string | undefined {
  const found = new Set((expression?.types ?? []).map((type) => (type.kind === "constant" ? type.of : "")));
  return found.size === 1 ? [...found][0] || undefined : undefined;
}
