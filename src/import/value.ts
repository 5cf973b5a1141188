/** Translated values: the TypeScript text of an expression and its static properties. */
import { dtypeTable, type DTypeName, isInt } from "../types/dtype.js";
import type { TritonType, Expression, FunctionTree, GlobalBinding, WireConstant } from "./tree.js";

export type Value =
  /** A JavaScript number. `isFloat` distinguishes Python's `1.0` from `1`. */
  | { readonly kind: "number"; readonly text: string; readonly value: number | bigint; readonly isFloat: boolean }
  | { readonly kind: "truth"; readonly text: string; readonly value: boolean }
  | { readonly kind: "string"; readonly text: string; readonly value: string }
  | { readonly kind: "none"; readonly text: string }
  | { readonly kind: "dtype"; readonly text: string }
  | { readonly kind: "list"; readonly text: string; readonly items: readonly Value[] }
  | { readonly kind: "function"; readonly text: string; readonly name: string }
  | { readonly kind: "helper"; readonly text: string; readonly number: number }
  /** The result of a dropped statement or an omitted argument. */
  | { readonly kind: "nothing"; readonly text: string }
  /**
   * A handle: a tile, a pointer, a constexpr, or a condition on them. `isConstant` is true for compile-time constants.
   * For parameters, `typeTag` is the Python type of a constant, `"pointer"` or `"scalar"`.
   */
  | { readonly kind: "traced"; readonly text: string; readonly isConstant?: boolean; readonly typeTag?: string };

export type Traced = Extract<Value, { readonly kind: "traced" }>;

/** Thrown if a kernel cannot be imported. The message is the reason. */
export class UnsupportedConstruct extends Error {
  override readonly name = "NotImported";
  /** A line relative to the function, or of the file once `functionName` is set. */
  line: number | undefined;
  functionName: string | undefined;
  /** `remedy` says what to write instead of the construct. */
  constructor(construct: string, remedy: string, location?: { readonly line: number }) {
    super(`${construct}; ${remedy}`);
    this.line = location?.line;
  }
}

/** Converts the line of an error in a function to a line of its file. */
export function withFileLines<T>(tree: Pick<FunctionTree, "line" | "name">, body: () => T): T {
  try {
    return body();
  } catch (error) {
    if (error instanceof UnsupportedConstruct && error.line !== undefined && error.functionName === undefined) {
      error.line += tree.line - 1;
      error.functionName = tree.name;
    }
    throw error;
  }
}

export const traced = (text: string, isConstant = false): Value => ({
  kind: "traced",
  text,
  ...(isConstant && { isConstant }),
});
export const isConstant = (value: Value): boolean =>
  value.kind === "traced" ? value.isConstant === true : value.kind !== "nothing";

/** True if Triton evaluates an expression at compile time. In code without types, the value decides. */
export const isCompileTimeConstant = (value: Value, expression: Pick<Expression, "types">): boolean =>
  expression.types.length > 0 ? constantKind(expression) !== undefined : isConstant(value);
export const NONE: Value = { kind: "none", text: "null" };
export const NO_VALUE: Value = { kind: "nothing", text: "" };
export const truth = (value: boolean): Value => ({ kind: "truth", text: String(value), value });
export const string = (value: string): Value => ({ kind: "string", text: JSON.stringify(value), value });
export const dtypeValue = (name: string): Value => ({ kind: "dtype", text: `tl.${dtypeName(name)}` });
/** Casts a handle, or converts a constant to a scalar of the dtype. */
export const castTo = (value: Value, dtype: string): Value =>
  value.kind === "traced"
    ? traced(`${value.text}.to(${dtype})`)
    : traced(`tl.full([], ${value.kind === "truth" ? Number(value.value) : value.text}, ${dtype})`);
export const list = (items: readonly Value[]): Value => ({
  kind: "list",
  text: `[${items.map(({ text }) => text).join(", ")}]`,
  items,
});

export function number(value: number | bigint, isFloat: boolean): Value {
  const isWide = typeof value === "bigint" || (!isFloat && !Number.isSafeInteger(value));
  const text = isWide ? `${BigInt(value)}n` : String(value);
  return { kind: "number", text, value, isFloat };
}

/** A Python constant. Infinities and integers beyond 2^53 are strings. */
export function constant(pythonType: string, value: WireConstant): Value | undefined {
  if (pythonType === "NoneType") return NONE;
  if (pythonType === "bool") return truth(Boolean(value));
  if (pythonType === "str") return string(String(value));
  if (pythonType === "int") return number(typeof value === "string" ? BigInt(value) : Number(value), false);
  if (pythonType === "float") return number(typeof value === "string" ? floatOf(value) : Number(value), true);
  return undefined;
}

const floatOf = (text: string): number => Number(text.replace("inf", "Infinity"));

export function bindingValue(binding: GlobalBinding): Value | undefined {
  switch (binding.what) {
    case "constant":
      return constant(binding.of, binding.value);
    case "dtype":
      return dtypeValue(binding.dtype);
    case "function":
      return { kind: "function", text: binding.name, name: binding.name };
    case "helper":
      return { kind: "helper", text: binding.name, number: binding.number };
    case "list": {
      const items = binding.items.map(bindingValue);
      return items.every((item) => item !== undefined) ? list(items) : undefined;
    }
    case "module":
    case "other":
      return undefined;
    default:
      return binding satisfies never;
  }
}

/** Triton's short dtype names. */
const SHORT_DTYPES: Readonly<Record<string, DTypeName>> = {
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

export const SHORT_DTYPE_NAMES: readonly string[] = Object.keys(SHORT_DTYPES);

export function dtypeName(name: string): DTypeName {
  if (name in dtypeTable) return name as DTypeName;
  return SHORT_DTYPES[name] ?? unknownDType(name);
}

export const isDTypeName = (name: string): boolean => name in dtypeTable || name in SHORT_DTYPES;

function unknownDType(name: string): never {
  throw new UnsupportedConstruct(`TileScript has no dtype ${name}`, "cast to another one");
}

/**
 * The element type of an expression: a dtype name, or the sorted names of all dtypes that Triton compiled it with.
 * Undefined for values without element type.
 */
export function elementOf(expression: Pick<Expression, "types"> | undefined): string | undefined {
  const dtypes = (expression?.types ?? []).flatMap((type) =>
    type.kind === "tile" || type.kind === "pointer" || type.kind === "descriptor" ? [dtypeName(type.dtype)] : [],
  );
  return dtypes.length > 0 ? elementText(dtypes) : undefined;
}

/** The canonical text of a set of dtypes. */
export const elementText = (names: readonly DTypeName[]): string => [...new Set(names)].sort().join(" ");

/** True if all dtypes of an element type are integers other than int1. */
export const isIntElement = (element: string): boolean =>
  element !== "int1" && element.split(" ").every((name) => isInt(name as DTypeName));

export function rankOf(expression: Pick<Expression, "types"> | undefined): number | undefined {
  const ranks = new Set((expression?.types ?? []).flatMap((type) => ("shape" in type ? [type.shape.length] : [])));
  return ranks.size === 1 ? [...ranks][0] : undefined;
}

/** The type kind of an expression. Undefined if it differs between compilations. */
export function kindOf(expression: Pick<Expression, "types"> | undefined): TritonType["kind"] | undefined {
  const kinds = new Set((expression?.types ?? []).map(({ kind }) => kind));
  return kinds.size === 1 ? [...kinds][0] : undefined;
}

/** The constant that an expression had in every compilation, if any. */
export function constantOf(expression: Pick<Expression, "types"> | undefined): Value | undefined {
  const [type, ...others] = expression?.types ?? [];
  return type?.kind === "constant" && others.length === 0 ? constant(type.of, type.value) : undefined;
}

/** The constant that an expression had in every recorded call; compilations with other constants do not count. */
export function constantInCalls(expression: Pick<Expression, "types">): Value | undefined {
  const ofCalls = expression.types.filter(({ calls }) => calls?.some((call) => call >= 0) !== false);
  return constantOf({ types: ofCalls.length > 0 ? ofCalls : expression.types });
}

/** The Python type of an expression that is constant in every compilation, such as `int` or `bool`. */
export function constantKind(expression: Pick<Expression, "types"> | undefined): string | undefined {
  const pythonTypes = new Set((expression?.types ?? []).map((type) => (type.kind === "constant" ? type.of : "")));
  return pythonTypes.size === 1 ? [...pythonTypes][0] || undefined : undefined;
}

/** The negation of a condition. */
export function translateNot(value: Value): Value {
  if (value.kind === "truth") return truth(!value.value);
  const { text } = value;
  return traced(text.endsWith(".not()") ? text.slice(0, -".not()".length) : `${text}.not()`, isConstant(value));
}
