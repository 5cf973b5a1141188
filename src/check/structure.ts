/**
 * Checks a finished kernel against the type rules: each op is inferred again, for each member of each dtype variable,
 * and every field of its result types must be equal. Branches that the dtypes exclude are skipped.
 */
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import { ruleViolation } from "../diagnostics/catalog/rule-codes.js";
import { reachedOps } from "../analysis/compiled-ops.js";
import { type DTypeBinding, dtypeBindings, dtypeConstants, substitution } from "../analysis/dtype-bindings.js";
import type { KernelIR, OpStatement } from "../ir/nodes.js";
import { type Substitution, typedArguments } from "../ir/typed.js";
import { sameType, showType } from "../types/types.js";
import { bodiesOf, definitions } from "../ir/walk.js";

export function checkStructure(ir: KernelIR): readonly Diagnostic[] {
  const diagnostics = new Map<string, Diagnostic>();
  const definitionsOf = definitions(...bodiesOf(ir));
  for (const binding of dtypeBindings(ir)) {
    const [bound, suffix] = [substitution(binding), suffixOf(binding)];
    for (const statement of reachedOps(ir, dtypeConstants(definitionsOf, binding))) {
      const message = retypingError(statement, bound, suffix);
      if (message !== "")
        diagnostics.set(`${message}@${statement.at?.line}`, errorDiagnostic(ruleViolation(message), statement.at));
    }
  }
  return [...diagnostics.values()];
}

/** The type error of a statement if dtype variables are bound, or "". */
function retypingError(statement: OpStatement, bound: Substitution, suffix: string): string {
  const inferred = statement.op.infer(typedArguments(statement, bound));
  if (typeof inferred === "string") return `${inferred}${suffix}`;
  const types = "kind" in inferred ? (inferred.kind === "none" ? [] : [inferred]) : inferred;
  for (const [i, value] of statement.results.entries()) {
    const expected = bound.type(value.type);
    const actual = types[i];
    if (actual && sameType(bound.type(actual), expected)) continue;
    return `${statement.op.name}: gives ${actual ? showType(actual) : "nothing"} where ${showType(expected)} is expected${suffix}; cast with .to(…)`;
  }
  return "";
}

function suffixOf(binding: DTypeBinding): string {
  const bindings = Object.entries(binding).map(([name, member]) => `${name} = ${member}`);
  return bindings.length > 0 ? ` (with ${bindings.join(", ")})` : "";
}
