/** Traverses the Python model without naming its fields. */
import type { Expression, Statement } from "./py.js";

/** Calls `visit` for every node of a tree, outer before inner. Entries and fields without a kind are passed through. */
export function eachNode(tree: unknown, visit: (node: Expression | Statement) => void): void {
  if (Array.isArray(tree)) {
    for (const item of tree) eachNode(item, visit);
    return;
  }
  if (typeof tree !== "object" || tree === null) return;
  if ("kind" in tree) visit(tree as Expression | Statement);
  for (const key in tree) {
    // A place in the author's file is no part of the tree.
    if (key !== "origin") eachNode((tree as Readonly<Record<string, unknown>>)[key], visit);
  }
}
