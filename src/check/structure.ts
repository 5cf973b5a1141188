/**
 * Checks a finished kernel against the type rules: each op is inferred again, for each member of each dtype variable,
 * and every field of its result types must be equal. Branches that the dtypes exclude are skipped.
 */
import { type Diagnostic, errorDiagnostic } from "../diagnostics/diagnostic.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { Message } from "../diagnostics/message.js";
import type { RuleError } from "../types/rule-error.js";
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
      const error = retypingError(statement, bound, suffix);
      if (error)
        diagnostics.set(`${error.text}@${statement.location?.line}`, errorDiagnostic(error, statement.location));
    }
  }
  return [...diagnostics.values()];
}

/** The type error of a statement if dtype variables are bound. */
function retypingError(statement: OpStatement, bound: Substitution, suffix: string): RuleError | undefined {
  const inferred = statement.op.infer(typedArguments(statement, bound));
  if (inferred instanceof Message) return inferred.withContext(suffix);
  const types = [inferred].flat().filter(({ kind }) => kind !== "none");
  for (const [i, value] of statement.results.entries()) {
    const expected = bound.type(value.type);
    const actual = types[i];
    if (actual && sameType(bound.type(actual), expected)) continue;
    return operandKind(
      `${statement.op.name}: gives ${actual ? showType(actual) : "nothing"} where ${showType(expected)} is expected${suffix}`,
      "cast with .to(…)",
    );
  }
  return undefined;
}

function suffixOf(binding: DTypeBinding): string {
  const bindings = Object.entries(binding).map(([name, member]) => `${name} = ${member}`);
  return bindings.length > 0 ? ` (with ${bindings.join(", ")})` : "";
}
