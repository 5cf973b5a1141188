/** Rules for a body's Python that do not depend on its state. */
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
import type { SourceIndex } from "../../ir/source.js";
import { walk } from "../../ir/walk.js";
import * as py from "../syntax/py-build.js";
import type { BinaryOperator, Expression, Keyword, Statement as PyStatement } from "../syntax/py.js";

/** The author's comments, each printed above the first line that its statement becomes. */
export class Comments {
  readonly #source: SourceIndex | undefined;
  /** Author's statements whose first line was printed already, with their comments and the blank line above. */
  readonly #begun = new Set<string>();

  constructor(source: SourceIndex | undefined) {
    this.#source = source;
  }

  /** The comments above a line that comes from these places, and whether the author left a blank line there. */
  of(sites: readonly Location[]): { readonly comments: readonly PyStatement[]; readonly isApart: boolean } {
    const comments: PyStatement[] = [];
    let isApart = false;
    for (const place of sites) {
      const site = this.#source?.site(place);
      if (!site) continue;
      const key = `${site.statement.file}:${site.statement.line}:${site.statement.column}`;
      if (this.#begun.has(key)) continue;
      this.#begun.add(key);
      isApart ||= site.blankBefore === true;
      if (site.comments.length > 0) comments.push(py.comment(site.comments.join("\n")));
    }
    return { comments, isApart };
  }
}

/** The tensors that a body's pointers point into. */
export class PointedInto {
  readonly #known = new Map<Value, string>();

  /** The author's name of the tensor, if the statement makes pointers. */
  nameOf({ operands: [from], results: [to] }: OpStatement): string | undefined {
    if (!isValue(from) || to?.type.kind !== "pointer") return undefined;
    const tensor = this.of(from);
    if (tensor !== undefined) this.#known.set(to, tensor);
    return tensor;
  }

  /** The author's name of the tensor that a pointer points into, once the statements that made it were seen. */
  of(pointer: Value): string | undefined {
    return this.#known.get(pointer) ?? pointer.parameter?.replace(/\.ptr$/, "");
  }
}

/** What each loop begins with and advances by, with a name for it. */
export function boundsOfLoops(block: Block): ReadonlyMap<Value, string> {
  const bounds = new Map<Value, string>();
  walk(block, (statement) => {
    if (statement.kind !== "for") return;
    if (isValue(statement.step)) bounds.set(statement.step, "step");
    if (isValue(statement.start)) bounds.set(statement.start, "start");
  });
  return bounds;
}

/**
 * A name for a value that the author left unnamed; `tensor` is the tensor that a pointer points into, and `bound` what a
 * loop calls it.
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
    // `mask_m = rm[:, None] < M`, where a tile has other axes too.
    const [, limit] = statement.operands;
    const dim = type.shape.length > 1 && isValue(limit) ? limit.parameter : undefined;
    return dim === undefined ? "mask" : `mask_${dim.toLowerCase()}`;
  }
  // What memory gives is no offset yet.
  if (effect !== "pure") return "value";
  if (type.dtype === "int32" || type.dtype === "int64") return type.shape.length > 0 ? "offsets" : bound;
  return spelling.form === "call" ? name : "value";
}

/** `num_stages=3` for `numStages: 3`. */
export function optionKeywords(
  options: Readonly<Record<string, Argument>>,
  say: (argument: Argument) => Expression,
): readonly Keyword[] {
  return Object.entries(options).map(([key, argument]) =>
    py.keyword(
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      say(argument),
    ),
  );
}

/** The arguments of `range`, as few as needed. */
export function loopBounds(
  { start, end, step }: ForStatement,
  say: (argument: Argument) => Expression,
): readonly Expression[] {
  const isNumber = (argument: Argument, n: number) => isLiteral(argument) && argument.value === n;
  const by = isNumber(step, 1) ? [] : [say(step)];
  const from = by.length === 0 && isNumber(start, 0) ? [] : [say(start)];
  return [...from, say(end), ...by];
}

/** Whether the expression can be repeated for free: a name, or a view of one such as `rm[:, None]`. */
export function isFree(expression: Expression): boolean {
  if (expression.kind === "name" || expression.kind === "number") return true;
  return expression.kind === "subscript" && expression.value.kind === "name";
}

const AUGMENTED: ReadonlySet<string> = new Set(["+", "-", "*", "/"]);

/** `acc = acc + x` reads as `acc += x`. */
export function augmentedOperator(
  value: Expression,
  target: Expression,
): { operator: BinaryOperator; right: Expression } | undefined {
  if (value.kind !== "binary" || !AUGMENTED.has(value.operator)) return undefined;
  const isTarget = value.left.kind === "name" && target.kind === "name" && value.left.id === target.id;
  return isTarget ? { operator: value.operator, right: value.right } : undefined;
}

export function orPassStatement(body: readonly PyStatement[]): readonly PyStatement[] {
  return body.length > 0 ? body : [py.pass];
}
