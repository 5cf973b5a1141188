/** Parentheses of operands: those that Python's grammar requires, and a few for readability. */
import type * as Py from "./py.js";

/** Higher binds tighter (Python reference, 6.17). */
export const LEVEL = {
  lambda: 1,
  conditional: 2,
  or: 3,
  and: 4,
  not: 5,
  compare: 6,
  bitOr: 7,
  unary: 13,
  power: 14,
  postfix: 16,
  atom: 17,
} as const;

const BINARY_LEVEL: Readonly<Record<Py.BinaryOperator, number>> = {
  "|": LEVEL.bitOr,
  "^": 8,
  "&": 9,
  "<<": 10,
  ">>": 10,
  "+": 11,
  "-": 11,
  "*": 12,
  "/": 12,
  "//": 12,
  "%": 12,
  "@": 12,
  "**": LEVEL.power,
};

/** An operand, with or without parentheses. */
export interface Operand {
  readonly value: Py.Expression;
  readonly isParenthesized: boolean;
}

export function level(expression: Py.Expression): number {
  switch (expression.kind) {
    case "lambda":
    case "conditional":
      return LEVEL[expression.kind];
    case "bool":
      return LEVEL[expression.operator];
    case "compare":
      return LEVEL.compare;
    case "unary":
      return expression.operator === "not" ? LEVEL.not : LEVEL.unary;
    case "binary":
      return BINARY_LEVEL[expression.operator];
    case "attribute":
    case "call":
    case "subscript":
      return LEVEL.postfix;
    case "raw":
      // A call or a dotted name is a postfix expression. Other text is assumed to have the lowest precedence.
      return isCall(expression) ? LEVEL.postfix : LEVEL.lambda;
    case "name":
    case "number":
    case "string":
    case "fString":
    case "tuple":
    case "list":
    case "comprehension":
    case "dict":
      return LEVEL.atom;
    default:
      return expression satisfies never;
  }
}

function isCall({ parts }: Py.Raw): boolean {
  const text = parts.map((part) => (typeof part === "string" ? part : "x")).join("");
  return /^[\w.]+(?:\([^()]*\))?$/.test(text);
}

/** An operand that must bind at least this tightly. */
export function operand(value: Py.Expression, minimum: number): Operand {
  return { value, isParenthesized: level(value) < minimum };
}

export function binaryOperands({ operator, left, right }: Py.Binary): readonly [Operand, Operand] {
  const precedence = BINARY_LEVEL[operator];
  // Power is right associative and its exponent may have a sign.
  if (operator === "**") return [operand(left, precedence + 1), operand(right, LEVEL.unary)];
  return [
    isMixedDivision(operator, left) || isMixedBitwise(operator, left)
      ? { value: left, isParenthesized: true }
      : operand(left, precedence),
    isMixedBitwise(operator, right) ? { value: right, isParenthesized: true } : operand(right, precedence + 1),
  ];
}

const BITWISE: ReadonlySet<string> = new Set(["<<", ">>", "&", "^", "|"]);

/** `(word >> shift) & 15`: readers rarely know the relative precedence of bitwise and arithmetic operators. */
function isMixedBitwise(operator: Py.BinaryOperator, side: Py.Expression): boolean {
  return side.kind === "binary" && BITWISE.has(operator) && side.operator !== operator;
}

/** An operand of a comparison: `(bits & 1) == 0`, which has another meaning in C without parentheses. */
export function comparisonOperand(value: Py.Expression): Operand {
  const isBitwise = value.kind === "binary" && BITWISE.has(value.operator);
  return isBitwise ? { value, isParenthesized: true } : operand(value, LEVEL.bitOr);
}

const MULTIPLICATIVE: ReadonlySet<string> = new Set(["*", "/", "//", "%"]);

/** `(pid % n) // m`: the parentheses are only for readability. */
function isMixedDivision(operator: Py.BinaryOperator, left: Py.Expression): boolean {
  if (left.kind !== "binary" || !MULTIPLICATIVE.has(operator) || !MULTIPLICATIVE.has(left.operator)) return false;
  return left.operator !== "*";
}

export function unaryOperand({ operator, operand: value }: Py.Unary): Operand {
  const minimum = operator === "not" ? LEVEL.not : LEVEL.unary;
  // `-a**b` is legal; ruff writes it as `-(a**b)`.
  return { value, isParenthesized: level(value) < minimum || level(value) === LEVEL.power };
}

/** The expression before `.name`, `(…)` or `[…]`. A bare number would not parse there. */
export function postfixRoot(value: Py.Expression): Operand {
  return { value, isParenthesized: level(value) < LEVEL.postfix || value.kind === "number" };
}

export function conditionalOperands(node: Py.Conditional): { body: Operand; test: Operand; otherwise: Operand } {
  return {
    body: operand(node.body, LEVEL.or),
    test: operand(node.test, LEVEL.or),
    otherwise: operand(node.otherwise, LEVEL.lambda),
  };
}
