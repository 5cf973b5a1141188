/** Removes sizes that a function unpacks from a shape but does not use. */
import { eachNode } from "./nodes-in.js";
import * as py from "./py-build.js";
import type { Block, Expression, Name } from "./py.js";

/**
 * Replaces unused targets of `M, N = x.shape` by `_`, and removes unused assignments such as `N = x.shape[0]`.
 */
export function withoutUnusedSizes(body: Block): Block {
  const uses = new Map<string, number>();
  eachNode(body, (node) => {
    if (node.kind === "name") uses.set(node.id, (uses.get(node.id) ?? 0) + 1);
  });
  // An unused name occurs only in its own assignment.
  const isUnused = (target: { readonly kind: string }): boolean => isName(target) && uses.get(target.id) === 1;
  const replaceUnused = <E extends { readonly kind: string }>(target: E): E | Expression =>
    isUnused(target) ? py.name("_") : target;
  return body.flatMap((statement) => {
    if (statement.kind !== "assign" || statement.value === undefined) return [statement];
    const { targets: assignedTargets, value } = statement;
    if (value.kind === "subscript" && isShape(value.value)) return assignedTargets.every(isUnused) ? [] : [statement];
    if (!isShape(value)) return [statement];
    if (assignedTargets.every((target) => target.kind === "tuple" && target.items.every(isUnused))) return [];
    const targets = assignedTargets.map((target) =>
      target.kind === "tuple" ? py.tuple(...target.items.map(replaceUnused)) : target,
    );
    return [{ ...statement, targets }];
  });
}

const isShape = (value: Expression | undefined): boolean => value?.kind === "attribute" && value.name === "shape";

const isName = (node: { readonly kind: string }): node is Name => node.kind === "name";
