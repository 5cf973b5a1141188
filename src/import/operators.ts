/** Python's operators as methods of handles, or computed where both sides are numbers. */
import type { Expression } from "./tree.js";
import type { Context } from "./context.js";
import {
  cast,
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

/** An operand: its value and the expression that it comes from. */
export interface Side {
  readonly value: Value;
  readonly from?: Expression;
}

type Numbers = (x: number, y: number) => number;
const FOLD: Readonly<Record<string, Numbers>> = {
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

/** `op` of two values that stand at `at`. */
export function binary(op: string, left: Side, right: Side, at: Expression, context: Context): Value {
  const [a, b] = [left.value, right.value];
  const known = folded(op, a, b);
  if (known) return known;
  for (const side of [a, b])
    if (side.kind !== "traced" && side.kind !== "number" && side.kind !== "truth")
      throw new UnsupportedConstruct(`an operator on ${side.kind === "none" ? "None" : `a ${side.kind}`}`, at);
  if (op === "Pow" && a.kind === "number" && a.value === 2 && constantKind(right.from) === "int")
    return binary("LShift", { ...left, value: number(1, false) }, right, at, context);
  const method = METHODS[op];
  if (!method) throw new UnsupportedConstruct(`the operator ${op}, which TileScript has not for tiles`, at);
  if (isPointer(left) || isPointer(right)) return pointer(method, left, right, at);
  const [x, y] = LOGICAL.has(method) ? [left, right] : [counted(left), counted(right)];
  return arithmetic(method, x, y, at, context);
}

/** A flag among numbers is 1 or 0. */
function counted(side: Side): Side {
  const { value, from } = side;
  const isFlag = value.kind === "traced" && (from && from.types.length > 0 ? constantKind(from) : value.of) === "bool";
  return isFlag ? { value: traced(`tl.choose(${value.text}, 1, 0)`, true) } : side;
}

function folded(op: string, a: Value, b: Value): Value | undefined {
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

/** Whether a value has methods: numbers of JavaScript have not. */
export const hasMethods = ({ kind }: Value): boolean => kind === "traced";

const LOGICAL: ReadonlySet<string> = new Set(["and", "or", "xor"]);

/** `a.add(b)`, or `tl.add(1, b)`, or `tl.or(FLAG, b)`: a flag's own methods take flags. */
export function translateOperator(method: string, a: Value, b: Value): Traced {
  const isFlagBeside = LOGICAL.has(method) && isConstant(a) && !isConstant(b);
  const text = hasMethods(a) && !isFlagBeside ? `${a.text}.${method}(${b.text})` : `tl.${method}(${a.text}, ${b.text})`;
  return { kind: "traced", text, ...(isConstant(a) && isConstant(b) && { isConstant: true }) };
}

function pointer(method: string, left: Side, right: Side, at: { readonly line: number }): Value {
  const isSwapped = !isPointer(left);
  if (method !== "add" && (method !== "sub" || isSwapped))
    throw new UnsupportedConstruct(`${method} of pointers, which TileScript has not`, at);
  const [base, offset] = isSwapped ? [right, left] : [left, right];
  if (isPointer(offset)) throw new UnsupportedConstruct("the difference of pointers", at);
  const moved = elementOf(offset.from) === "int1" ? cast(offset.value, "tl.int32") : offset.value;
  return { ...translateOperator(method, base.value, moved), of: "pointer" };
}

/** In code that no call reaches, what starts from a pointer among the parameters. */
const isPointer = ({ value, from }: Side): boolean =>
  kindOf(from) === "pointer" || (from?.types.length === 0 && value.kind === "traced" && value.of === "pointer");

const NUMERIC = new Set(["add", "sub", "mul", "div", "mod"]);

/** TileScript makes explicit what Triton converts on its own: truth values and integers among floats. */
function arithmetic(method: string, left: Side, right: Side, at: Expression, { kernel }: Context): Value {
  let [a, b] = [left.value, right.value];
  const [x, y] = [elementOf(left.from), elementOf(right.from)];
  const made = elementOf(at);
  if (NUMERIC.has(method) && made !== undefined) {
    const converted = (value: Value): Value => cast(value, kernel.dtype(made));
    if (x === "int1" && made !== "int1") a = converted(a);
    if (y === "int1" && made !== "int1") b = converted(b);
    if (x === "int1" && y === "int1" && made === "int1")
      return translateOperator(method === "mul" ? "and" : "xor", a, b);
    if (x !== undefined && isIntElement(x) && isFloatConstant(right)) a = converted(a);
    else if (y !== undefined && isIntElement(y) && isFloatConstant(left)) b = converted(b);
  }
  if ((method === "and" || method === "or") && (a.kind === "truth" || b.kind === "truth")) {
    const [known, other] = a.kind === "truth" ? [a, b] : [b, a];
    if (known.kind === "truth" && (x !== undefined) !== (y !== undefined))
      return (method === "and") === known.value ? other : translateOperator(method, other, known);
  }
  return translateOperator(method, a, b);
}

function isFloatConstant({ value, from }: Side): boolean {
  return value.kind === "number" ? value.isFloat : constantKind(from) === "float";
}

/** One comparison of a chain. `isNone` decides comparisons with None. */
export function compare(op: string, left: Side, right: Side, at: Expression): Value {
  const [a, b] = [left.value, right.value];
  const method = COMPARE[op];
  if (!method) throw new UnsupportedConstruct(`the comparison ${op}`, at);
  if (isLiteral(a) && isLiteral(b)) return truth(comparison(method, literalOf(a), literalOf(b)));
  const known = constantOf(at);
  if ((a.kind === "dtype" || b.kind === "dtype") && known?.kind === "truth") return known;
  // A flag compared with a truth value is the flag or its opposite.
  const sides = [
    [a, right],
    [b, left],
  ] as const;
  for (const [known, { value, from }] of sides)
    if (known.kind === "truth" && value.kind === "traced" && constantKind(from) === "bool")
      return known.value === (method === "eq") ? value : negated(value);
  const isAmongNumbers = a.kind === "number" || b.kind === "number";
  const [one, other] = isAmongNumbers ? [counted(left).value, counted(right).value] : [a, b];
  const [x, y] = [elementOf(left.from), elementOf(right.from)];
  const fixed = (value: Value, mine: typeof x, beside: Side): Value => {
    if (mine === "int1" && (beside.value.kind === "number" || constantKind(beside.from) === "int"))
      return cast(value, "tl.int32");
    const isFraction = mine !== undefined && isIntElement(mine) && isFloatConstant(beside);
    return isFraction ? cast(value, "tl.float32") : value;
  };
  return translateOperator(method, fixed(one, x, right), fixed(other, y, left));
}

type Literal = Extract<Value, { kind: "number" | "truth" | "string" | "none" }>;
const isLiteral = (value: Value): value is Literal =>
  value.kind === "number" || value.kind === "truth" || value.kind === "string" || value.kind === "none";
const literalOf = (value: Literal): number | string | null =>
  value.kind === "none" ? null : value.kind === "string" ? value.value : Number(value.value);

function comparison(method: string, x: number | string | null, y: number | string | null): boolean {
  if (method === "eq") return x === y;
  if (method === "ne") return x !== y;
  if (x === null || y === null) return false;
  return { lt: x < y, le: x <= y, gt: x > y, ge: x >= y }[method] ?? false;
}

/** The opposite of a condition. */
export function negated(value: Value): Value {
  if (value.kind === "truth") return truth(!value.value);
  const { text } = value;
  return traced(text.endsWith(".not()") ? text.slice(0, -".not()".length) : `${text}.not()`, isConstant(value));
}

/** One condition and another. */
export const translateAnd = (x: Value, y: Value): Value =>
  x.kind === "truth" ? (x.value ? y : x) : y.kind === "truth" ? (y.value ? x : y) : translateOperator("and", x, y);

/** One condition or another. */
export const either = (x: Value, y: Value): Value =>
  x.kind === "truth" ? (x.value ? x : y) : y.kind === "truth" ? (y.value ? y : x) : translateOperator("or", x, y);
