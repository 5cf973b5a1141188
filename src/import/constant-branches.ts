/** Removes the branches that Triton did not compile for the recorded calls. */
import type { FunctionTree, Statement } from "./tree.js";
import { constantOf } from "./value.js";

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
