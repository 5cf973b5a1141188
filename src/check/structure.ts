/**
 * Checks a finished kernel against the rules that built it: every op is typed again by its own rule, for each member of
 * each dtype variable, and every field of the type must come out the same. An arm that the dtypes exclude is no code
 * for them.
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
  const found = new Map<string, Diagnostic>();
  const made = definitions(...bodiesOf(ir));
  for (const binding of dtypeBindings(ir)) {
    const [bound, suffix] = [substitution(binding), suffixOf(binding)];
    for (const statement of reachedOps(ir, dtypeConstants(made, binding))) {
      const message = retype(statement, bound, suffix);
      if (message !== "")
        found.set(`${message}@${statement.at?.line}`, errorDiagnostic(ruleViolation(message), statement.at));
    }
  }
  return [...found.values()];
}

/** What is wrong with a statement when dtype variables are bound, or "". */
function retype(statement: OpStatement, bound: Substitution, suffix: string): string {
  const answer = statement.op.infer(typedArguments(statement, bound));
  if (typeof answer === "string") return `${answer}${suffix}`;
  const types = "kind" in answer ? (answer.kind === "none" ? [] : [answer]) : answer;
  for (const [i, value] of statement.results.entries()) {
    const expected = bound.type(value.type);
    const got = types[i];
    if (got && sameType(bound.type(got), expected)) continue;
    return `${statement.op.name}: gives ${got ? showType(got) : "nothing"} where ${showType(expected)} is expected${suffix}; cast with .to(…)`;
  }
  return "";
}

function suffixOf(binding: DTypeBinding): string {
  const which = Object.entries(binding).map(([name, member]) => `${name} = ${member}`);
  return which.length > 0 ? ` (with ${which.join(", ")})` : "";
}
