/** Rules of the body emitter that do not depend on its state: comments, names of unnamed values, loop bounds. */
import type { Location } from "../../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  type ForStatement,
  isLiteral,
  isValue,
  type OpStatement,
  type Value,
} from "../../ir/nodes.js";
import type { SourceIndex } from "../../ir/source-index.js";
import { walk } from "../../ir/walk.js";
import * as py from "../syntax/py-build.js";
import type { BinaryOperator, Expression, Keyword, Statement as PyStatement, Name } from "../syntax/py.js";

/** The author's comments. Each is printed once, above the first emitted line of its statement. */
export class Comments {
  readonly #source: SourceIndex | undefined;
  /** The author's statements whose comments were printed, as `file:line:column`. */
  readonly #printed = new Set<string>();

  constructor(source: SourceIndex | undefined) {
    this.#source = source;
  }

  /**
   * The comments to print above a line from these source locations. `hasBlankLine`: the author left a blank line above.
   */
  take(sites: readonly Location[]): { readonly comments: readonly PyStatement[]; readonly hasBlankLine: boolean } {
    const comments: PyStatement[] = [];
    let hasBlankLine = false;
    for (const location of sites) {
      const site = this.#source?.site(location);
      if (!site) continue;
      const key = `${site.statement.file}:${site.statement.line}:${site.statement.column}`;
      if (this.#printed.has(key)) continue;
      this.#printed.add(key);
      hasBlankLine ||= site.hasBlankLineAbove === true;
      if (site.comments.length > 0) comments.push(py.comment(site.comments.join("\n")));
    }
    return { comments, hasBlankLine };
  }
}

/** The tensors that the pointers of a body point into. */
export class PointerTensors {
  readonly #tensors = new Map<Value, string>();

  /** The author's name of the tensor if the statement computes a pointer. Records it for the result. */
  nameOf({ operands: [source], results: [result] }: OpStatement): string | undefined {
    if (!isValue(source) || result?.type.kind !== "pointer") return undefined;
    const tensor = this.tensorOf(source);
    if (tensor !== undefined) this.#tensors.set(result, tensor);
    return tensor;
  }

  /**
   * The author's name of the tensor that a pointer points into. Requires {@link nameOf} of the statements that computed
   * it.
   */
  tensorOf(pointer: Value): string | undefined {
    return this.#tensors.get(pointer) ?? pointer.parameter?.replace(/\.ptr$/, "");
  }
}

/** Names for the starts and steps of loops. */
export function loopBoundNames(block: Block): ReadonlyMap<Value, string> {
  const bounds = new Map<Value, string>();
  walk(block, (statement) => {
    if (statement.kind !== "for") return;
    if (isValue(statement.step)) bounds.set(statement.step, "step");
    if (isValue(statement.start)) bounds.set(statement.start, "start");
  });
  return bounds;
}

/**
 * The name of a value that the author did not name. `tensor` is the tensor that a pointer points into, `bound` the name
 * of a loop bound.
 */
export function hintOf(statement: OpStatement, tensor?: string, bound = "index"): string {
  const type = statement.results[0]?.type;
  const { spelling, effect, name } = statement.op;
  if (spelling.form === "lowered") return name;
  if (type?.kind === "pointer") {
    const isMany = type.shape.length > 0;
    if (tensor === undefined) return isMany ? "ptrs" : "ptr";
    return `${tensor}_${isMany ? "ptrs" : "base"}`;
  }
  if (type?.kind !== "tile") return name;
  if (type.dtype === "int1") {
    // `mask_m = rm[:, None] < M`, if the tile has several axes.
    const [, limit] = statement.operands;
    const dim = type.shape.length > 1 && isValue(limit) ? limit.parameter : undefined;
    return dim === undefined ? "mask" : `mask_${dim.toLowerCase()}`;
  }
  // A loaded integer is not necessarily an offset.
  if (effect !== "pure") return "value";
  if (type.dtype === "int32" || type.dtype === "int64") return type.shape.length > 0 ? "offsets" : bound;
  return spelling.form === "call" ? name : "value";
}

/** `num_stages=3` for `numStages: 3`. */
export function optionKeywords(
  options: Readonly<Record<string, Argument>>,
  toExpression: (argument: Argument) => Expression,
): readonly Keyword[] {
  return Object.entries(options).map(([key, argument]) =>
    py.keyword(
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      toExpression(argument),
    ),
  );
}

/** The arguments of `range`, without defaults. */
export function loopBounds(
  { start, end, step }: ForStatement,
  toExpression: (argument: Argument) => Expression,
): readonly Expression[] {
  const isNumber = (argument: Argument, n: number) => isLiteral(argument) && argument.value === n;
  const stepArguments = isNumber(step, 1) ? [] : [toExpression(step)];
  const startArguments = stepArguments.length === 0 && isNumber(start, 0) ? [] : [toExpression(start)];
  return [...startArguments, toExpression(end), ...stepArguments];
}

/** True if the expression can be repeated at no cost: a name, a number, or an indexed name such as `rm[:, None]`. */
export function isRepeatable(expression: Expression): boolean {
  if (expression.kind === "name" || expression.kind === "number") return true;
  return expression.kind === "subscript" && expression.value.kind === "name";
}

const AUGMENTED_OPERATORS: ReadonlySet<string> = new Set(["+", "-", "*", "/"]);

/** The operator and right operand if `target = value` can be printed as `target += …`. */
export function augmentedOperator(
  value: Expression,
  target: Expression,
): { operator: BinaryOperator; right: Expression } | undefined {
  if (value.kind !== "binary" || !AUGMENTED_OPERATORS.has(value.operator)) return undefined;
  const isTarget = value.left.kind === "name" && target.kind === "name" && value.left.id === target.id;
  return isTarget ? { operator: value.operator, right: value.right } : undefined;
}

export function bodyOrPass(body: readonly PyStatement[]): readonly PyStatement[] {
  return body.length > 0 ? body : [py.pass];
}

// The Python forms of a `while` loop. Python's condition is one expression, but an IR condition may need statements.

export interface WhileForm {
  /** The statements before the loop. */
  readonly preheader: readonly PyStatement[];
  readonly test: Expression;
  /** Wraps the statements of the loop's body. */
  readonly body: (statements: readonly PyStatement[]) => readonly PyStatement[];
}

/** `while test:`, for a condition that is one expression. */
export function emitPlainWhile(test: Expression): WhileForm {
  return { preheader: [], test, body: (statements) => statements };
}

/** A condition with effects is emitted once, at the start of each iteration. */
export function emitBreakingWhile(
  conditionStatements: readonly PyStatement[],
  test: Expression,
  running: Name,
): WhileForm {
  return {
    preheader: [py.assign(running, py.boolean(true))],
    test: running,
    body: (statements) => {
      const branch: PyStatement = { kind: "if", branches: [{ test: running, body: statements }] };
      return [...conditionStatements, py.assign(running, test), ...(statements.length > 0 ? [branch] : [])];
    },
  };
}

/** A rotated loop: any other condition is computed before the loop and at the end of each iteration. */
export function emitRotatedWhile(
  conditionStatements: readonly PyStatement[],
  test: Expression,
  running: () => Name,
): WhileForm {
  const name = test.kind === "name" ? undefined : running();
  const preheader = name ? [...conditionStatements, py.assign(name, test)] : conditionStatements;
  const latch = preheader.filter(({ kind }) => kind !== "comment" && kind !== "blank");
  return { preheader, test: name ?? test, body: (statements) => [...statements, ...latch] };
}
