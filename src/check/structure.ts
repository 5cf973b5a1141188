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
import {
  type KernelIR,
  type OpStatement,
  type Argument,
  type Block,
  isList,
  isMemoryParam,
  isValue,
  type Statement,
  type Value,
} from "../ir/nodes.js";
import { sameType, showType } from "../types/types.js";
import { bodiesOf, definitions, type Substitution, typedArguments, argumentsOf, blocksOf } from "../ir/walk.js";
import { notGiven } from "../diagnostics/catalog/control-codes.js";

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

// Checks that optional arguments are only used where the kernel knows that they are present.

/** The flags of optional arguments that are known to be true. */
type TrueFlags = ReadonlySet<Value>;

export function checkOptional(ir: KernelIR): readonly Diagnostic[] {
  const owners = new Map<Value, { readonly name: string; readonly flag: Value }>();
  for (const param of ir.params) {
    if (!isMemoryParam(param) || !param.given) continue;
    const owner = { name: param.name, flag: param.given };
    owners.set(param.value, owner);
    if (param.kind !== "tensor") continue;
    // The strides of a contiguous tensor are sizes, which other tensors have too.
    const ownStrides = param.strides.filter((stride) => !param.dims.includes(stride));
    for (const value of [param.pointer, ...ownStrides]) if (isValue(value)) owners.set(value, owner);
  }
  if (owners.size === 0) return [];
  const flags = new Set([...owners.values()].map(({ flag: given }) => given));
  const definitionsOf = definitions(ir.body);
  const diagnostics: Diagnostic[] = [];

  function checkUse(argument: Argument, trueFlags: TrueFlags, statement: Statement): void {
    if (isList(argument)) return argument.forEach((item) => checkUse(item, trueFlags, statement));
    const owner = isValue(argument) ? owners.get(argument) : undefined;
    if (!owner || trueFlags.has(owner.flag)) return;
    const { name } = owner;
    diagnostics.push(errorDiagnostic(notGiven(name), statement.location));
  }

  function visit(block: Block, trueFlags: TrueFlags): void {
    for (const statement of block.statements) {
      argumentsOf(statement).forEach((argument) => checkUse(argument, trueFlags, statement));
      if (statement.kind === "if") {
        visit(statement.then, union(trueFlags, impliedFlags(statement.condition, true)));
        visit(statement.otherwise, union(trueFlags, impliedFlags(statement.condition, false)));
      } else blocksOf(statement).forEach((inner) => visit(inner, trueFlags));
    }
  }

  /** The flags that are true if a condition is `truth`: operands of a true `and` or of a false `or`. */
  function impliedFlags(condition: Argument, truth: boolean): TrueFlags {
    if (!isValue(condition)) return new Set();
    if (flags.has(condition)) return new Set(truth ? [condition] : []);
    const statement = definitionsOf.get(condition);
    if (statement?.kind !== "op" || !("truth" in statement.op.spelling)) return new Set();
    const operands = argumentsOf(statement);
    const { truth: operator } = statement.op.spelling;
    if (operator !== "not" && operator !== (truth ? "and" : "or")) return new Set();
    const operandTruth = operator === "not" ? !truth : truth;
    return union(...operands.map((operand) => impliedFlags(operand, operandTruth)));
  }

  visit(ir.body, new Set());
  return diagnostics;
}

function union(...sets: readonly TrueFlags[]): TrueFlags {
  return new Set(sets.flatMap((set) => [...set]));
}
