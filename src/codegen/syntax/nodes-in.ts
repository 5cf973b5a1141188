/** Generic traversal of the Python syntax tree. */
import type { Expression, Statement } from "./py.js";

/** Calls `visit` for every node of a tree in preorder. Objects without a `kind` are traversed but not visited. */
export function eachNode(tree: unknown, visit: (node: Expression | Statement) => void): void {
  if (Array.isArray(tree)) {
    for (const item of tree) eachNode(item, visit);
    return;
  }
  if (typeof tree !== "object" || tree === null) return;
  if ("kind" in tree) visit(tree as Expression | Statement);
  for (const key in tree) {
    // The origin is a source location, not a node.
    if (key !== "origin") eachNode((tree as Readonly<Record<string, unknown>>)[key], visit);
  }
}

/** The names that occur in these nodes. */
export function namesIn(nodes: readonly (Expression | Statement)[]): ReadonlySet<string> {
  const names = new Set<string>();
  eachNode(nodes, (node) => {
    if (node.kind === "name") names.add(node.id);
  });
  return names;
}
