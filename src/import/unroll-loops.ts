/** Unrolls the loops whose copies TileScript cannot express by one body. */
import { childrenOf, liveBefore, readNames, targetNames, writtenNames } from "./liveness.js";
import { constantNode } from "./node-builders.js";
import { replaceNodes } from "./rewrite-tree.js";
import type { Expression, For, FunctionTree, Name, Statement, Subscript } from "./tree.js";
import { constantInCalls } from "./value.js";

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
