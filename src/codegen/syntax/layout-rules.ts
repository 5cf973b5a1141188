/**
 * Properties of expressions that determine their layout. Names follow ruff's formatter, which follows black's "right
 * hand side" rules: breaking a bracket at the end is preferred over wrapping the whole expression in parentheses.
 */
import {
  binaryOperands,
  comparisonOperand,
  conditionalOperands,
  LEVEL,
  operand,
  postfixRoot,
  unaryOperand,
  type Operand,
} from "./precedence.js";
import type * as Py from "./py.js";

/** The rule for adding parentheses around an expression if its line is too long. */
export type Wrapping = "never" | "bestFit" | "multiline";

export type FlatPart = Operand | { readonly operator: Py.BinaryOperator | Py.CompareOperator | Py.BoolOperator };

/** `a + b * c` as operand, operator, operand … An operand in parentheses is not flattened. */
export function flatten(expression: Py.Binary | Py.Compare | Py.BoolOp): readonly FlatPart[] {
  switch (expression.kind) {
    case "binary": {
      const [left, right] = binaryOperands(expression);
      return [...flattenOperand(left), { operator: expression.operator }, ...flattenOperand(right)];
    }
    case "compare":
      return [
        ...flattenOperand(comparisonOperand(expression.first)),
        ...expression.comparisons.flatMap((pair) => [
          { operator: pair.operator },
          ...flattenOperand(comparisonOperand(pair.operand)),
        ]),
      ];
    case "bool": {
      const minimum = expression.operator === "and" ? LEVEL.not : LEVEL.and;
      return expression.operands.flatMap((value, index) => [
        ...(index ? [{ operator: expression.operator }] : []),
        ...flattenOperand(operand(value, minimum)),
      ]);
    }
    default:
      return expression satisfies never;
  }
}

function flattenOperand(part: Operand): readonly FlatPart[] {
  const { value, isParenthesized } = part;
  const isChain = !isParenthesized && (value.kind === "binary" || value.kind === "compare" || value.kind === "bool");
  return isChain ? flatten(value) : [part];
}

/** Operators with a higher priority break first. All operators of a chain with the highest priority break together. */
export function splitPriority(operator: Py.BinaryOperator | Py.CompareOperator | Py.BoolOperator): number {
  switch (operator) {
    case "**":
      return 2;
    case "*":
    case "@":
    case "/":
    case "//":
    case "%":
      return 4;
    case "+":
    case "-":
      return 5;
    case "<<":
    case ">>":
      return 6;
    case "&":
      return 7;
    case "^":
      return 8;
    case "|":
      return 9;
    case "<":
    case "<=":
    case ">":
    case ">=":
    case "==":
    case "!=":
    case "is":
    case "is not":
    case "in":
    case "not in":
      return 10;
    case "and":
    case "or":
      return 11;
    default:
      return operator satisfies never;
  }
}

const ATTRIBUTE_PRIORITY = 1;
const INVERSION_PRIORITY = 3;
const CONDITIONAL_PRIORITY = 12;

type Postfix = Py.Attribute | Py.Call | Py.Subscript;

export function isPostfix(expression: Py.Expression): expression is Postfix {
  return expression.kind === "attribute" || expression.kind === "call" || expression.kind === "subscript";
}

export function postfixValue(expression: Postfix): Py.Expression {
  return expression.kind === "call" ? expression.callee : expression.value;
}

/** A fluent chain breaks before its dots. At least two of them must follow a call, an index or parentheses. */
export function isFluent(expression: Py.Expression): boolean {
  let dots = 0;
  let current = expression;
  while (isPostfix(current)) {
    const root = postfixRoot(postfixValue(current));
    if (current.kind === "attribute" && (root.isParenthesized || isCallLike(root.value))) dots += 1;
    if (root.isParenthesized) break;
    current = root.value;
  }
  return dots >= 2;
}

export function isCallLike(expression: Py.Expression): boolean {
  return expression.kind === "call" || expression.kind === "subscript";
}

export type OwnBrackets = "none" | "empty" | "filled";

export function ownBrackets(expression: Py.Expression): OwnBrackets {
  switch (expression.kind) {
    case "subscript":
      return "filled";
    case "call":
      return expression.args.length ? "filled" : "empty";
    case "list":
    case "tuple":
      return expression.items.length ? "filled" : "empty";
    case "comprehension":
      return "filled";
    case "dict":
      return expression.entries.length ? "filled" : "empty";
    case "attribute":
    case "binary":
    case "bool":
    case "compare":
    case "conditional":
    case "fString":
    case "lambda":
    case "name":
    case "number":
    case "raw":
    case "string":
    case "unary":
      return "none";
    default:
      return expression satisfies never;
  }
}

/** Ruff's `needs_parentheses`. */
export function wrapping(expression: Py.Expression): Wrapping {
  switch (expression.kind) {
    case "binary":
    case "compare":
    case "bool":
    case "conditional":
    case "lambda":
      return "multiline";
    case "unary": {
      const { value, isParenthesized } = unaryOperand(expression);
      return isParenthesized ? "never" : wrapping(value);
    }
    case "attribute":
    case "call":
    case "subscript": {
      if (isFluent(expression)) return "multiline";
      const { value, isParenthesized } = postfixRoot(postfixValue(expression));
      return isParenthesized ? "never" : wrapping(value);
    }
    case "name":
    case "number":
    case "string":
    case "fString":
      return "bestFit";
    case "tuple":
    case "list":
    case "comprehension":
    case "dict":
    // The author's text keeps its lines.
    case "raw":
      return "never";
    default:
      return expression satisfies never;
  }
}

/**
 * True if breaking the expression's own brackets is preferred over wrapping it in parentheses (black's
 * `_maybe_split_omitting_optional_parens`): at most one operator of the highest priority, and a bracket at either end.
 */
export function canOmitParentheses(expression: Py.Expression): boolean {
  const visitor = new OmitVisitor();
  visitor.inspect(expression);
  if (!visitor.hasBracket || visitor.count > 1) return false;
  if (visitor.priority <= ATTRIBUTE_PRIORITY) return true;
  return [visitor.last, visitor.first === "token" ? undefined : visitor.first].some(
    (end) =>
      end !== undefined &&
      end.value.kind !== "subscript" &&
      (end.isParenthesized || ownBrackets(end.value) === "filled"),
  );
}

class OmitVisitor {
  hasBracket = false;
  priority = 0;
  count = 0;
  last: Operand | undefined;
  first: Operand | "token" | undefined;

  /** Visits an operand, with or without parentheses. */
  visit(part: Operand): void {
    this.last = part;
    if (part.isParenthesized) this.hasBracket = true;
    else this.inspect(part.value);
    this.first ??= part;
  }

  inspect(expression: Py.Expression): void {
    switch (expression.kind) {
      case "tuple":
      case "list":
      case "comprehension":
      case "dict":
        this.hasBracket = true;
        return;
      case "name":
      case "number":
      case "string":
      case "fString":
        return;
      case "binary":
        return this.operator(splitPriority(expression.operator), binaryOperands(expression));
      case "compare": {
        const values = [expression.first, ...expression.comparisons.map((pair) => pair.operand)];
        return this.operator(splitPriority("<"), values.map(comparisonOperand));
      }
      case "bool": {
        const level = expression.operator === "and" ? LEVEL.not : LEVEL.and;
        return this.operator(
          splitPriority("and"),
          expression.operands.map((value) => operand(value, level)),
        );
      }
      case "conditional": {
        const { body, test, otherwise } = conditionalOperands(expression);
        return this.operator(CONDITIONAL_PRIORITY, [body, test, otherwise]);
      }
      case "call":
      case "subscript":
        this.hasBracket = true;
        this.visit(postfixRoot(postfixValue(expression)));
        this.last = { value: expression, isParenthesized: false };
        return;
      case "attribute": {
        const root = postfixRoot(expression.value);
        this.visit(root);
        if (root.isParenthesized || ownBrackets(root.value) !== "none") this.raise(ATTRIBUTE_PRIORITY, 1);
        this.last = { value: expression, isParenthesized: false };
        return;
      }
      case "unary":
        if (expression.operator === "~") this.raise(INVERSION_PRIORITY, 1);
        this.first ??= "token";
        this.visit(unaryOperand(expression));
        return;
      case "lambda":
        this.first ??= "token";
        this.visit(operand(expression.body, LEVEL.lambda));
        return;
      case "raw":
        return;
      default:
        expression satisfies never;
    }
  }

  /** Visits operands with operators of one priority between them. */
  private operator(priority: number, operands: readonly Operand[]): void {
    this.raise(priority, operands.length - 1);
    for (const part of operands) this.visit(part);
  }

  private raise(priority: number, count: number): void {
    if (priority > this.priority) {
      this.priority = priority;
      this.count = count;
    } else if (priority === this.priority) {
      this.count += count;
    }
  }
}
