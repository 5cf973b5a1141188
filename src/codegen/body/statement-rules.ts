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
import { walk, type WriteTarget } from "../../ir/walk.js";
import * as py from "../syntax/py-build.js";
import type { BinaryOperator, Expression, Keyword, Statement as PyStatement, Name } from "../syntax/py.js";
import { showType } from "../../types/types.js";

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

// Expressions that are printed at their use, and the ones already used in the current statement.

/** An expression without a name, to be inlined at its uses. */
export interface DeferredExpression {
  readonly expression: Expression;
  readonly reads: ReadonlySet<WriteTarget>;
  /** The author's source locations that the expression comes from. */
  readonly sites: readonly Location[];
  /** The nesting depth of deferred expressions. */
  readonly depth: number;
  /** The name of the variable if the expression must be materialized before its use. */
  readonly hint: string;
}

export class DeferredExpressions {
  readonly #pending = new Map<Value, DeferredExpression>();
  /** The number of outstanding uses of each deferred value. */
  readonly #remainingUses = new Map<Value, number>();
  #reads = new Set<WriteTarget>();
  #depth = 0;
  #sites: Location[] = [];

  /** `uses` counts the uses of each value. */
  constructor(readonly uses: ReadonlyMap<Value, number>) {}

  /** The variables and memory that the current statement reads. */
  get reads(): ReadonlySet<WriteTarget> {
    return this.#reads;
  }

  /** The greatest depth of the deferred expressions in the current statement. */
  get depth(): number {
    return this.#depth;
  }

  /** Defers a value to its uses instead of assigning it here. */
  defer(value: Value, pending: Omit<DeferredExpression, "sites" | "depth">, at: Location | undefined): void {
    const depth = this.#depth + 1;
    this.#pending.set(value, { ...pending, depth, sites: this.takeSites(at) });
  }

  /** Takes the expression of a deferred value into the current statement. */
  takeExpression(value: Value): Expression {
    const pending = this.#pending.get(value);
    if (!pending) throw new Error(`value %${value.id} is used before it is made`);
    for (const read of pending.reads) this.#reads.add(read);
    this.#depth = Math.max(this.#depth, pending.depth);
    this.#sites.push(...pending.sites);
    const remaining = (this.#remainingUses.get(value) ?? this.uses.get(value) ?? 1) - 1;
    this.#remainingUses.set(value, remaining);
    if (remaining === 0) this.#pending.delete(value);
    return pending.expression;
  }

  /** Returns the source locations of the current statement, and resets the state for the next one. */
  takeSites(at: Location | undefined): readonly Location[] {
    const sites = at ? [...this.#sites, at] : this.#sites;
    this.#sites = [];
    this.#reads = new Set();
    this.#depth = 0;
    return sites;
  }

  /** Calls `assign` for each deferred value that is due. */
  materialize(
    isDue: (value: Value, pending: DeferredExpression) => boolean,
    assign: (value: Value, pending: DeferredExpression) => void,
  ): void {
    for (const [value, pending] of this.#pending) {
      if (!isDue(value, pending)) continue;
      this.#pending.delete(value);
      const sites = this.#sites;
      this.#sites = [...pending.sites];
      assign(value, pending);
      this.#sites = sites;
    }
  }
}

// Scoped value numbering: an expression that a JavaScript helper computes again reuses the name of the first result.

interface NumberedValue {
  /** The author's name, or the hint for an unnamed value. */
  readonly name: string;
  readonly hasAuthorName: boolean;
  readonly target: Expression;
}

export class ScopedValueNumbering {
  /** One map per open block, keyed by expression and type. */
  readonly #blocks: Map<string, NumberedValue>[] = [];

  /** Runs `body` in a new scope. */
  block<T>(body: () => T): T {
    this.#blocks.push(new Map());
    try {
      return body();
    } finally {
      this.#blocks.pop();
    }
  }

  record(expression: Expression, name: string, value: Value, target: Expression): void {
    this.#blocks.at(-1)?.set(keyOf(expression, value), { name, hasAuthorName: !value.isAnonymous, target });
  }

  /**
   * The name that already has this value. Values with different author names stay separate. Loads are never recorded.
   */
  find(expression: Expression, name: string, value: Value): Expression | undefined {
    const key = keyOf(expression, value);
    const entry = this.#blocks.map((block) => block.get(key)).find((each) => each !== undefined);
    return entry && (entry.name === name || value.isAnonymous || !entry.hasAuthorName) ? entry.target : undefined;
  }
}

function keyOf(expression: Expression, { type }: Value): string {
  return `${showType(type)} ${JSON.stringify(expression)}`;
}
