/** Unrolls loops whose copies TileScript cannot express by one body; removes branches and values that no call needs. */
import { childrenOf, liveBefore, readNames, targetNames, writtenNames } from "./liveness.js";
import { constantNode, replaceNodes } from "./node-builders.js";
import type { Expression, For, FunctionTree, Name, Statement, Subscript } from "./tree.js";
import { constantInCalls, constantOf } from "./value.js";

/** Removes unused values. TileScript would report an unused condition as evaluated in JavaScript. */
export function withoutUnused(lines: readonly string[]): readonly string[] {
  const remaining = [...lines];
  for (const [i, line] of [...lines.entries()].reverse()) {
    const [, name, value] = /^const (\w+) = (.*);$/s.exec(line) ?? [];
    if (name !== undefined && value !== undefined && isSideEffectFree(value) && !isUsed(name, remaining, i + 1))
      remaining.splice(i, 1);
  }
  return remaining;
}

/** True if the remaining lines of the enclosing block use a variable. */
function isUsed(name: string, lines: readonly string[], start: number): boolean {
  const pattern = new RegExp(`\\b${name}\\b`);
  let depth = 0;
  for (const line of lines.slice(start)) {
    if (line.startsWith("//")) continue;
    if (line.startsWith("}") && depth === 0) return false;
    if (pattern.test(line)) return true;
    depth += line.split("{").length - line.split("}").length;
  }
  return false;
}

/** False for mutable variables, memory accesses, and calls of helper functions, which may have effects. */
const isSideEffectFree = (value: string): boolean =>
  !/=>|\btl\.(mut|load|atomic\w*)\(|\.(load|atomic\w*|gather)\(/.test(value) && !/(?<![.\w])[A-Za-z_]\w*\(/.test(value);

/** Replaces each `if` whose condition had one constant value by the arm for that value. */
export function pruneConstantBranches(tree: FunctionTree): FunctionTree {
  return { ...tree, body: pruneStatements(tree.body) };
}

function pruneStatements(body: readonly Statement[]): readonly Statement[] {
  return body.flatMap((statement): readonly Statement[] => {
    if (statement.kind === "For" || statement.kind === "While")
      return [{ ...statement, body: pruneStatements(statement.body) }];
    if (statement.kind !== "If") return [statement];
    const condition = constantOf(statement.test);
    if (!condition)
      return [{ ...statement, body: pruneStatements(statement.body), orelse: pruneStatements(statement.orelse) }];
    return pruneStatements(isTrue(condition) ? statement.body : statement.orelse);
  });
}

function isTrue(value: NonNullable<ReturnType<typeof constantOf>>): boolean {
  if (value.kind === "truth") return value.value;
  if (value.kind === "number") return Number(value.value) !== 0;
  return value.kind === "string" && value.value !== "";
}

/** The largest number of copies of a loop's body. */
const MAX_COPIES = 64;

/** Replaces each `tl.static_range` loop that needs it by its copies, if its bounds are numbers or fixed parameters. */
export function unrollLoops(tree: FunctionTree, isFixed: (parameter: string) => boolean): FunctionTree {
  const variables = new Set([...tree.params.map(({ name }) => name), ...writtenNames(tree.body)]);
  const isKnown = (node: Expression): boolean =>
    [...readNames(node)].every((name) => isFixed(name) || !variables.has(name));
  const unroll = (body: readonly Statement[]): readonly Statement[] =>
    body.flatMap((statement): readonly Statement[] => {
      if (statement.kind === "If")
        return [{ ...statement, body: unroll(statement.body), orelse: unroll(statement.orelse) }];
      if (statement.kind !== "For" && statement.kind !== "While") return [statement];
      const indices = statement.kind === "For" && needsUnrolling(statement) ? indicesOf(statement, isKnown) : undefined;
      if (statement.kind === "While" || !indices) return [{ ...statement, body: unroll(statement.body) }];
      return indices.flatMap((index) => unroll(copyOf(statement, index)));
    });
  return { ...tree, body: unroll(tree.body) };
}

/** True if copies of a loop's body differ in the type or the items of a carried variable, or in an index of a list. */
export function needsUnrolling({ iter, target, body }: For): boolean {
  if (iter.kind !== "Call" || iter.callee?.what !== "function" || iter.callee.name !== "tl.static_range") return false;
  const indices = targetNames(target);
  const carried = liveBefore(body, new Set());
  const assignedNames = new Set(writtenNames(body));
  const differs = (node: object): boolean => {
    if (isName(node))
      return carried.has(node.id) && assignedNames.has(node.id) && (isTuple(node) || hasSeveralTypes(node));
    const isIndexed = isSubscript(node) && isTuple(node.value);
    return (isIndexed && indices.some((name) => readNames(node.slice).has(name))) || childrenOf(node).some(differs);
  };
  return body.some(differs);
}

const isTuple = ({ types }: Expression): boolean => types.some(({ kind }) => kind === "tuple");
const isName = (node: object): node is Name => "kind" in node && node.kind === "Name";
const isSubscript = (node: object): node is Subscript => "kind" in node && node.kind === "Subscript";

/** True if one recorded call compiled an expression with several dtypes or shapes. */
function hasSeveralTypes({ types }: Expression): boolean {
  const calls = types.flatMap((type) => ("shape" in type ? (type.calls ?? []) : [])).filter((call) => call >= 0);
  return new Set(calls).size < calls.length;
}

/** The indices of a loop's copies. */
function indicesOf({ iter, body, target }: For, isKnown: (node: Expression) => boolean): readonly number[] | undefined {
  if (iter.kind !== "Call" || iter.keywords.length > 0) return undefined;
  if (writtenNames(body).some((name) => targetNames(target).includes(name))) return undefined;
  const bounds = iter.args.map((node) => {
    const value = isKnown(node) || isLength(node) ? constantInCalls(node) : undefined;
    return value?.kind === "number" ? Number(value.value) : undefined;
  });
  if (!bounds.every((bound) => bound !== undefined)) return undefined;
  const [start = 0, end = 0, step = 1] = bounds.length === 1 ? [0, ...bounds] : bounds;
  const count = Math.max(0, Math.ceil((end - start) / step));
  return count > MAX_COPIES ? undefined : Array.from({ length: count }, (_, i) => start + i * step);
}

const isLength = (node: Expression): boolean =>
  node.kind === "Call" && node.callee?.what === "function" && node.callee.name === "len";

/** The body of a loop for one index. */
function copyOf({ body, target }: For, value: number): readonly Statement[] {
  const indices = targetNames(target);
  return replaceNodes(body, (node) => {
    return isName(node) && indices.includes(node.id) ? constantNode("int", value, node) : undefined;
  });
}
