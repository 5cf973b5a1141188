/** Constructors for the syntax tree in py.ts. */
import type { Location } from "../../diagnostics/diagnostic.js";
import type * as Py from "./py.js";

export const name = (id: string): Py.Name => ({ kind: "name", id });
export const none = name("None");
export const boolean = (value: boolean): Py.Name => name(value ? "True" : "False");
export const number = (text: string): Py.NumberLiteral => ({ kind: "number", text });
export const string = (value: string): Py.StringLiteral => ({ kind: "string", value });
export const fString = (...parts: Py.FString["parts"]): Py.FString => ({ kind: "fString", parts });
export const raw = (...parts: Py.Raw["parts"]): Py.Raw => ({ kind: "raw", parts });
export const tuple = (...items: Py.Tuple["items"]): Py.Tuple => ({ kind: "tuple", items });
/** A single expression, or a tuple of several. `isAlwaysTuple` also makes a tuple of a single one. */
export function tupleOrSingle(items: readonly Py.Expression[], isAlwaysTuple = false): Py.Expression {
  const [single, extra] = items;
  return single && !extra && !isAlwaysTuple ? single : tuple(...items);
}
export const list = (...items: Py.List["items"]): Py.List => ({ kind: "list", items });
export const dict = (...entries: Py.Dict["entries"]): Py.Dict => ({ kind: "dict", entries });
export const lambda = (params: readonly string[], body: Py.Expression): Py.Lambda => ({ kind: "lambda", params, body });
export const keyword = (key: string, value: Py.Expression): Py.Keyword => ({ kind: "keyword", name: key, value });

export const starred = (value: Py.Expression, stars: "*" | "**" = "*"): Py.Starred => ({
  kind: "starred",
  stars,
  value,
});

/** `tl.load` for `dotted("tl.load")` */
export function dotted(path: string): Py.Name | Py.Attribute {
  const [root = "", ...members] = path.split(".");
  return members.reduce<Py.Name | Py.Attribute>((value, part) => attribute(value, part), name(root));
}

export const attribute = (value: Py.Expression, member: string): Py.Attribute => ({
  kind: "attribute",
  value,
  name: member,
});

/** A string callee is a dotted path. */
export const call = (callee: Py.Expression | string, ...args: readonly Py.Argument[]): Py.Call => ({
  kind: "call",
  callee: typeof callee === "string" ? dotted(callee) : callee,
  args,
});

/** `name=value` for each entry with a value, in order. */
export function keywords(values: Readonly<Record<string, Py.Expression | undefined>>): readonly Py.Keyword[] {
  return Object.entries(values).flatMap(([key, value]) => (value ? [keyword(key, value)] : []));
}

/** `2**31` */
export const powerOfTwo = (exponent: number): Py.Binary => binary(number("2"), "**", number(String(exponent)));

/** `[element for target in iterable]` */
export const comprehension = (
  element: Py.Expression,
  target: Py.Expression,
  iterable: Py.Expression,
): Py.Comprehension => ({ kind: "comprehension", element, target, iterable });

export const binary = (left: Py.Expression, operator: Py.BinaryOperator, right: Py.Expression): Py.Binary => ({
  kind: "binary",
  operator,
  left,
  right,
});

export const unary = (operator: Py.UnaryOperator, operand: Py.Expression): Py.Unary => ({
  kind: "unary",
  operator,
  operand,
});

export const compare = (
  first: Py.Expression,
  ...pairs: readonly (readonly [Py.CompareOperator, Py.Expression])[]
): Py.Compare => ({ kind: "compare", first, comparisons: pairs.map(([operator, operand]) => ({ operator, operand })) });

/** `a and b and c`. Nested operands with the same operator are merged, because the operator is associative. */
export function boolOp(operator: Py.BoolOperator, ...operands: readonly Py.Expression[]): Py.Expression {
  const merged = operands.flatMap((operand) =>
    operand.kind === "bool" && operand.operator === operator ? operand.operands : [operand],
  );
  const [single] = merged;
  return merged.length === 1 && single ? single : { kind: "bool", operator, operands: merged };
}

export const subscript = (value: Py.Expression, ...indices: Py.Subscript["indices"]): Py.Subscript => ({
  kind: "subscript",
  value,
  indices,
});

export const slice = (lower?: Py.Expression, upper?: Py.Expression, step?: Py.Expression): Py.Slice => ({
  kind: "slice",
  lower,
  upper,
  step,
});

export const conditional = (body: Py.Expression, test: Py.Expression, otherwise: Py.Expression): Py.Conditional => ({
  kind: "conditional",
  body,
  test,
  otherwise,
});

/**
 * The literal of a number: `1` is `1` as an int and `1.0` as a float. Negative numbers are a unary minus. Infinities
 * and NaN are calls such as `float("inf")`.
 */
export function numberLiteral(value: number | bigint, kind: "int" | "float"): Py.Expression {
  if (Number.isNaN(value)) return call("float", string("nan"));
  if (typeof value === "number" && !Number.isFinite(value)) return call("float", string(value > 0 ? "inf" : "-inf"));
  if (kind === "int" && typeof value === "number" && !Number.isInteger(value)) {
    throw new RangeError(`${value} is not an integer`);
  }
  const isNegative = value < 0 || (kind === "float" && Object.is(value, -0));
  const magnitude = value < 0 ? -value : value;
  const literal = number(kind === "int" ? BigInt(magnitude).toString() : floatText(Number(magnitude)));
  return isNegative ? unary("-", literal) : literal;
}

/** The literal of a number, a boolean or a string. An integral number is an int. */
export function constant(value: number | bigint | boolean | string): Py.Expression {
  if (typeof value === "boolean") return boolean(value);
  if (typeof value === "string") return string(value);
  return numberLiteral(value, typeof value === "bigint" || Number.isInteger(value) ? "int" : "float");
}

/**
 * JavaScript and Python both print the shortest decimal that parses to the same number. Only the sign of the exponent
 * and `.0` differ. Small numbers are printed with an exponent, which is easier to read: `1e-5`.
 */
function floatText(magnitude: number): string {
  const size = Math.abs(magnitude);
  const text = (size > 0 && size < 1e-3 ? size.toExponential() : String(size)).replace("e+", "e");
  return /[.e]/.test(text) ? text : `${text}.0`;
}

export const assign = (target: Py.Expression, value: Py.Expression, annotation?: Py.Expression): Py.Assign => ({
  kind: "assign",
  targets: [target],
  annotation,
  value,
});

export const augmentedAssign = (
  target: Py.Expression,
  operator: Py.BinaryOperator,
  value: Py.Expression,
): Py.AugmentedAssign => ({ kind: "augmentedAssign", target, operator, value });

export const expression = (value: Py.Expression): Py.ExpressionStatement => ({ kind: "expression", value });
export const returns = (value?: Py.Expression): Py.Return => ({ kind: "return", value });
export const raise = (value?: Py.Expression, cause?: Py.Expression): Py.Raise => ({ kind: "raise", value, cause });
export const pass: Py.Pass = { kind: "pass" };
export const blank: Py.Blank = { kind: "blank" };
export const comment = (text: string): Py.Comment => ({ kind: "comment", text });

/** A copy of the node with an origin in the author's source. */
export function withOrigin<T extends Py.Expression | Py.Statement>(node: T, origin: Location | undefined): T {
  return origin ? { ...node, origin } : node;
}
