/** Sizes that a function reads off a tensor's shape and then does not use. */
import { eachNode } from "./nodes-in.js";
import * as py from "./py-build.js";
import type { Block, Expression, Name } from "./py.js";

/**
 * A function's body in which `M, N = x.shape` names only the sizes that something reads: `M, _ = x.shape`. A size that is
 * read off alone and not used, `N = x.shape[0]`, is left out.
 */
export function withoutUnusedSizes(body: Block): Block {
  const uses = new Map<string, number>();
  eachNode(body, (node) => {
    if (node.kind === "name") uses.set(node.id, (uses.get(node.id) ?? 0) + 1);
  });
  // Its binding is the one place where an unused name stands.
  const isUnused = (target: { readonly kind: string }): boolean => isName(target) && uses.get(target.id) === 1;
  const used = <E extends { readonly kind: string }>(target: E): E | Expression =>
    isUnused(target) ? py.name("_") : target;
  return body.flatMap((statement) => {
    if (statement.kind !== "assign" || statement.value === undefined) return [statement];
    const { targets: bound, value } = statement;
    if (value.kind === "subscript" && isShape(value.value)) return bound.every(isUnused) ? [] : [statement];
    if (!isShape(value)) return [statement];
    const targets = bound.map((target) => (target.kind === "tuple" ? py.tuple(...target.items.map(used)) : target));
    return [{ ...statement, targets }];
  });
}

const isShape = (value: Expression | undefined): boolean => value?.kind === "attribute" && value.name === "shape";

const isName = (node: { readonly kind: string }): node is Name => node.kind === "name";
