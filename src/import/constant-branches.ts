/** A function without the branches that Triton leaves out for the calls that were noted. */
import type { FunctionTree, Statement } from "./tree.js";
import { constantOf } from "./value.js";

/** Each `if` whose condition was one constant gives way to the arm that was taken. */
export function pruneConstantBranches(tree: FunctionTree): FunctionTree {
  return { ...tree, body: pruned(tree.body) };
}

function pruned(body: readonly Statement[]): readonly Statement[] {
  return body.flatMap((statement): readonly Statement[] => {
    if (statement.kind === "For" || statement.kind === "While") return [{ ...statement, body: pruned(statement.body) }];
    if (statement.kind !== "If") return [statement];
    const known = constantOf(statement.test);
    if (!known) return [{ ...statement, body: pruned(statement.body), orelse: pruned(statement.orelse) }];
    return pruned(isTrue(known) ? statement.body : statement.orelse);
  });
}

function isTrue(value: NonNullable<ReturnType<typeof constantOf>>): boolean {
  if (value.kind === "truth") return value.value;
  if (value.kind === "number") return Number(value.value) !== 0;
  return value.kind === "string" && value.value !== "";
}
