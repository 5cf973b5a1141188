/** Sizes that a function reads off a tensor's shape and then does not use. */
import { eachNode } from "./nodes-in.js";
import * as py from "./py-build.js";
import type { Block, Expression, Name } from "./py.js";

/** A function's body in which `M, N = x.shape` names only the sizes that something reads: `M, _ = x.shape`. */
export function withoutUnusedSizes(body: Block): Block {
  const uses = new Map<string, number>();
  eachNode(body, (node) => {
    if (node.kind === "name") uses.set(node.id, (uses.get(node.id) ?? 0) + 1);
  });
  // Its binding is the one place where an unused name stands.
  const used = <E extends { readonly kind: string }>(target: E): E | Expression =>
    isName(target) && uses.get(target.id) === 1 ? py.name("_") : target;
  return body.map((statement) => {
    if (statement.kind !== "assign" || !isShape(statement.value)) return statement;
    const targets = statement.targets.map((target) =>
      target.kind === "tuple" ? py.tuple(...target.items.map(used)) : target,
    );
    return { ...statement, targets };
  });
}

const isShape = (value: Expression | undefined): boolean => value?.kind === "attribute" && value.name === "shape";

const isName = (node: { readonly kind: string }): node is Name => node.kind === "name";
