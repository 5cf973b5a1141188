/** Translates Python operators to methods of handles, with constant folding. */
import type { Expression } from "./tree.js";
import type { Context } from "./context.js";
import {
  castTo,
  constantInCalls,
  constantKind,
  constantOf,
  elementOf,
  isConstant,
  isIntElement,
  kindOf,
  list,
  UnsupportedConstruct,
  number,
  string,
  traced,
  type Traced,
  truth,
  type Value,
  translateNot,
} from "./value.js";

const METHODS: Readonly<Record<string, string>> = {
  Add: "add",
  Sub: "sub",
  Mult: "mul",
  Div: "div",
  FloorDiv: "floorDiv",
  Mod: "mod",
  BitAnd: "and",
  BitOr: "or",
  BitXor: "xor",
  LShift: "shl",
  RShift: "shr",
};
const COMPARE: Readonly<Record<string, string>> = { Lt: "lt", LtE: "le", Gt: "gt", GtE: "ge", Eq: "eq", NotEq: "ne" };

/** An operand: its translated value and its source expression. */
export interface Operand {
  readonly value: Value;
  readonly source?: Expression;
}

type NumberOp = (x: number, y: number) => number;
const FOLD: Readonly<Record<string, NumberOp>> = {
  Add: (x, y) => x + y,
  Sub: (x, y) => x - y,
  Mult: (x, y) => x * y,
  Div: (x, y) => x / y,
  FloorDiv: (x, y) => Math.floor(x / y),
  Mod: (x, y) => x - y * Math.floor(x / y),
  Pow: (x, y) => x ** y,
  BitAnd: (x, y) => Number(BigInt(x) & BigInt(y)),
  BitOr: (x, y) => Number(BigInt(x) | BigInt(y)),
  BitXor: (x, y) => Number(BigInt(x) ^ BigInt(y)),
  LShift: (x, y) => Number(BigInt(x) << BigInt(y)),
  RShift: (x, y) => Number(BigInt(x) >> BigInt(y)),
};

export function translateBinary(op: string, lhs: Operand, rhs: Operand, node: Expression, context: Context): Value {
  const [a, b] = [lhs.value, rhs.value];
  const constantResult = foldConstants(op, a, b);
  if (constantResult) return constantResult;
  for (const operand of [a, b])
    if (operand.kind !== "traced" && operand.kind !== "number" && operand.kind !== "truth")
      throw new UnsupportedConstruct(
        `an operator on ${operand.kind === "none" ? "None" : `a ${operand.kind}`}`,
        "use tiles and numbers",
        node,
      );
  if (op === "Pow") return translatePower(lhs, rhs, node, context);
  const method = METHODS[op];
  if (!method) throw new UnsupportedConstruct(`the operator ${op}`, "write a function of tl, such as tl.dot", node);
  if (isPointer(lhs) || isPointer(rhs)) return pointerArithmetic(method, lhs, rhs, node);
  const [x, y] = LOGICAL.has(method) ? [lhs, rhs] : [flagAsNumber(lhs), flagAsNumber(rhs)];
  return arithmetic(method, x, y, node, context);
}

/** The largest exponent that becomes a product. */
const MAX_FACTORS = 4;

/** A power of constants; Triton has none of tiles. */
function translatePower(lhs: Operand, rhs: Operand, node: Expression, context: Context): Value {
  const [base, exponent] = [lhs.value, rhs.value];
  if (base.kind === "number" && base.value === 2 && constantKind(rhs.source) === "int")
    return translateBinary("LShift", { ...lhs, value: number(1, false) }, rhs, node, context);
  const factors = exponent.kind === "number" && !exponent.isFloat ? Number(exponent.value) : 0;
  if (factors >= 1 && factors <= MAX_FACTORS)
    return Array.from({ length: factors - 1 }).reduce<Value>(
      (value) => translateBinary("Mult", { ...lhs, value }, lhs, node, context),
      base,
    );
  const result = constantInCalls(node);
  if (!result)
    throw new UnsupportedConstruct(
      "a power whose value differs between the traced calls",
      "pass the power as a tl.constexpr",
      node,
    );
  context.kernel.addTodo(`a power that is ${result.text} in the traced calls`, node.line);
  return result;
}

/** Converts a flag that is used as a number to 1 or 0. */
function flagAsNumber(operand: Operand): Operand {
  const { value, source } = operand;
  const isFlag =
    value.kind === "traced" && (source && source.types.length > 0 ? constantKind(source) : value.typeTag) === "bool";
  return isFlag ? { value: traced(`tl.choose(${value.text}, 1, 0)`, true) } : operand;
}

function foldConstants(op: string, a: Value, b: Value): Value | undefined {
  const fold = FOLD[op];
  if (a.kind === "number" && b.kind === "number" && fold) {
    const isFloat = op === "Div" || (op === "Pow" && Number(b.value) < 0) || a.isFloat || b.isFloat;
    const value = fold(Number(a.value), Number(b.value));
    return isFloat || Number.isSafeInteger(value) ? number(value, isFloat) : undefined;
  }
  if (a.kind === "string" && b.kind === "string" && op === "Add") return string(a.value + b.value);
  if (a.kind === "list" && b.kind === "list" && op === "Add") return list([...a.items, ...b.items]);
  if (a.kind === "list" && b.kind === "number" && op === "Mult")
    return list(Array.from({ length: Number(b.value) }, () => a.items).flat());
  return undefined;
}

/** True for handles. JavaScript numbers do not have the methods of handles. */
export const hasMethods = ({ kind }: Value): boolean => kind === "traced";

const LOGICAL: ReadonlySet<string> = new Set(["and", "or", "xor"]);

/** `a.add(b)`, `tl.add(1, b)`, or `tl.or(FLAG, b)`, because the methods of flags accept only flags. */
export function translateOperator(method: string, a: Value, b: Value): Traced {
  const isFlagOperand = LOGICAL.has(method) && isConstant(a) && !isConstant(b);
  const text =
    hasMethods(a) && !isFlagOperand ? `${a.text}.${method}(${b.text})` : `tl.${method}(${a.text}, ${b.text})`;
  return { kind: "traced", text, ...(isConstant(a) && isConstant(b) && { isConstant: true }) };
}

function pointerArithmetic(method: string, lhs: Operand, rhs: Operand, location: { readonly line: number }): Value {
  const isSwapped = !isPointer(lhs);
  if (method !== "add" && (method !== "sub" || isSwapped))
    throw new UnsupportedConstruct(`${method} of pointers`, "add an integer to a pointer, or subtract one", location);
  const [base, offset] = isSwapped ? [rhs, lhs] : [lhs, rhs];
  if (isPointer(offset))
    throw new UnsupportedConstruct("the difference of pointers", "subtract their offsets", location);
  const offsetValue = elementOf(offset.source) === "int1" ? castTo(offset.value, "tl.int32") : offset.value;
  return { ...translateOperator(method, base.value, offsetValue), typeTag: "pointer" };
}

/** True for pointers. In code without types, true for values that are derived from pointer parameters. */
const isPointer = ({ value, source }: Operand): boolean =>
  kindOf(source) === "pointer" ||
  (source?.types.length === 0 && value.kind === "traced" && value.typeTag === "pointer");

const NUMERIC = new Set(["add", "sub", "mul", "div", "mod"]);

/** Adds the casts that Triton applies implicitly to booleans and integers. */
function arithmetic(method: string, lhs: Operand, rhs: Operand, node: Expression, { kernel }: Context): Value {
  const [a, b] = [lhs.value, rhs.value];
  const [x, y] = [elementOf(lhs.source), elementOf(rhs.source)];
  const element = elementOf(node);
  if (NUMERIC.has(method) && element !== undefined) {
    if (x === "int1" && y === "int1" && element === "int1")
      return translateOperator(method === "mul" ? "and" : "xor", a, b);
    const isMixed = node.types.every(({ kind }) => kind === "tile") && mixesVariable(x, y, kernel);
    const convert = (operand: Operand, otherOperand: Operand): Value =>
      needsConversion(operand, otherOperand, element) || (isMixed && elementOf(operand.source) !== element)
        ? castTo(operand.value, kernel.dtype(element))
        : operand.value;
    return translateOperator(method, convert(lhs, rhs), convert(rhs, lhs));
  }
  if ((method === "and" || method === "or") && (a.kind === "truth" || b.kind === "truth")) {
    const [constant, operand] = a.kind === "truth" ? [a, b] : [b, a];
    if (constant.kind === "truth" && (x !== undefined) !== (y !== undefined))
      return (method === "and") === constant.value ? operand : translateOperator(method, operand, constant);
  }
  return translateOperator(method, a, b);
}

/** True if one operand has a dtype variable: the promotion that Triton applies depends on its value. */
function mixesVariable(x: string | undefined, y: string | undefined, kernel: Context["kernel"]): boolean {
  if (x === undefined || y === undefined || x === y) return false;
  return kernel.isVariable(x) || kernel.isVariable(y);
}

/** True if Triton implicitly converts an operand of numeric arithmetic to the dtype of the result. */
function needsConversion({ source }: Operand, otherOperand: Operand, resultElement: string): boolean {
  const element = elementOf(source);
  if (element === "int1" && resultElement !== "int1") return true;
  if (element === undefined || element === resultElement) return false;
  return isStoredConstant(otherOperand) || (isIntElement(element) && isFloatConstant(otherOperand));
}

/** True for a constant in a Python variable: Triton makes it a scalar with a dtype, and promotes the other operand. */
const isStoredConstant = ({ value, source }: Operand): boolean =>
  kindOf(source) === "tile" && (value.kind === "number" || (value.kind === "traced" && isNumberTag(value.typeTag)));

const isNumberTag = (tag: string | undefined): boolean => tag === "int" || tag === "float";

function isFloatConstant({ value, source }: Operand): boolean {
  return value.kind === "number" ? value.isFloat : constantKind(source) === "float";
}

/** The dtypes that a comparison with a scalar of this dtype does not convert. */
const NOT_PROMOTED: Readonly<Record<string, RegExp>> = { float32: /float64/, int32: /float|int64|uint32/ };

/** One comparison of a chain, other than with None. */
export function translateComparison(op: string, lhs: Operand, rhs: Operand, node: Expression): Value {
  const [a, b] = [lhs.value, rhs.value];
  const method = COMPARE[op];
  if (!method) throw new UnsupportedConstruct(`the comparison ${op}`, "write <, <=, >, >=, == or !=", node);
  if (isLiteral(a) && isLiteral(b)) return truth(foldComparison(method, literalOf(a), literalOf(b)));
  const constantResult = constantOf(node);
  if (a.kind === "dtype" || b.kind === "dtype") {
    const test = dtypeTest(method, a, b);
    if (test) return test;
    if (constantResult?.kind === "truth") return constantResult;
  }
  // A flag compared with True or False is the flag or its negation.
  const pairs = [
    [a, rhs],
    [b, lhs],
  ] as const;
  for (const [constant, { value, source }] of pairs)
    if (constant.kind === "truth" && value.kind === "traced" && constantKind(source) === "bool")
      return constant.value === (method === "eq") ? value : translateNot(value);
  const isAmongNumbers = a.kind === "number" || b.kind === "number";
  const [x, y] = isAmongNumbers ? [flagAsNumber(lhs).value, flagAsNumber(rhs).value] : [a, b];
  const [xElement, yElement] = [elementOf(lhs.source), elementOf(rhs.source)];
  const convert = (value: Value, element: typeof xElement, otherOperand: Operand): Value => {
    if (element === "int1" && (otherOperand.value.kind === "number" || constantKind(otherOperand.source) === "int"))
      return castTo(value, "tl.int32");
    if (element === undefined) return value;
    const isFraction = isIntElement(element) && isFloatConstant(otherOperand);
    if (isFraction) return castTo(value, "tl.float32");
    const storedElement = isStoredConstant(otherOperand) ? elementOf(otherOperand.source) : undefined;
    const isPromoted = storedElement !== undefined && NOT_PROMOTED[storedElement]?.test(element) === false;
    return isPromoted && element !== storedElement ? castTo(value, `tl.${storedElement}`) : value;
  };
  return translateOperator(method, convert(x, xElement, rhs), convert(y, yElement, lhs));
}

/** `T.is(tl.float16)`, for a comparison of a dtype variable with a dtype. */
function dtypeTest(method: string, a: Value, b: Value): Value | undefined {
  if (a.kind !== "dtype" || b.kind !== "dtype" || (method !== "eq" && method !== "ne")) return undefined;
  const [variable, dtype] = a.text.startsWith("tl.") ? [b.text, a.text] : [a.text, b.text];
  if (variable.startsWith("tl.") || !dtype.startsWith("tl.")) return undefined;
  const test: Value = { kind: "traced", text: `${variable}.is(${dtype})`, isConstant: true, typeTag: "bool" };
  return method === "eq" ? test : translateNot(test);
}

type Literal = Extract<Value, { kind: "number" | "truth" | "string" | "none" }>;
const isLiteral = (value: Value): value is Literal =>
  value.kind === "number" || value.kind === "truth" || value.kind === "string" || value.kind === "none";
function literalOf(value: Literal): number | string | null {
  if (value.kind === "none") return null;
  return value.kind === "string" ? value.value : Number(value.value);
}

function foldComparison(method: string, x: number | string | null, y: number | string | null): boolean {
  if (method === "eq") return x === y;
  if (method === "ne") return x !== y;
  if (x === null || y === null) return false;
  return { lt: x < y, le: x <= y, gt: x > y, ge: x >= y }[method] ?? false;
}

/** The conjunction of two conditions. */
export function translateAnd(x: Value, y: Value): Value {
  if (x.kind === "truth") return x.value ? y : x;
  if (y.kind === "truth") return y.value ? x : y;
  return translateOperator("and", x, y);
}

/** The disjunction of two conditions. */
export function translateOr(x: Value, y: Value): Value {
  if (x.kind === "truth") return x.value ? x : y;
  if (y.kind === "truth") return y.value ? y : x;
  return translateOperator("or", x, y);
}
