/**
 * Checks a finished kernel against the type rules: each op is inferred again, for each member of each dtype variable,
 * and every field of its result types must be equal. Branches that the dtypes exclude are skipped.
 */
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import { operandKind } from "../diagnostics/catalog/rule-codes.js";
import { Message } from "../diagnostics/message.js";
import type { RuleError } from "../types/rule-error.js";
import {
  type DTypeBinding,
  dtypeBindings,
  dtypeConstants,
  substitution,
  reachedOps,
} from "../analysis/dtype-bindings.js";
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
  type ReadStatement,
} from "../ir/nodes.js";
import { sameType, showType, type Type } from "../types/types.js";
import {
  bodiesOf,
  definitions,
  type Substitution,
  typedArguments,
  argumentsOf,
  blocksOf,
  hostBlocksOf,
  resultsOf,
  valuesIn,
  walkUses,
} from "../ir/walk.js";
import { notGiven, unusedValue } from "../diagnostics/catalog/control-codes.js";
import { hasFalsyObjects } from "../ir/handle.js";

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

// Values without uses. JavaScript treats every traced value as truthy without calling it, so an unused boolean may have
// been meant as a condition. If the engine has falsy objects, the trace has detected whether JavaScript coerced the
// value. If it did not, the value is as harmless as any other. On other engines this is unknown, and the kernel is
// rejected.

/** @param canObserveCoercion True if the trace detects that JavaScript coerces a value to a boolean. */
export function checkUnused(ir: KernelIR, canObserveCoercion = hasFalsyObjects()): readonly Diagnostic[] {
  const unused = allBlocks(ir).flatMap(unusedIn);
  const mayBeCoerced = ir.coercionError !== undefined || !canObserveCoercion;
  // A line that is traced several times is reported once.
  const diagnostics = new Map<string, Diagnostic>();
  for (const statement of unused) {
    const { location: at } = statement;
    const name = statement.kind === "op" ? statement.op.name : "value";
    const isBoolean = resultsOf(statement).some(({ type }) => isBooleanType(type));
    const diagnostic =
      isBoolean && mayBeCoerced ? errorDiagnostic(unusedValue.truth(name), at) : warning(unusedValue.result(name), at);
    diagnostics.set(`${at?.file}:${at?.line}:${at?.column}:${name}`, diagnostic);
  }
  const unusedDiagnostics = [...diagnostics.values(), ...unusedFlags(ir, mayBeCoerced)];
  // A diagnostic for an unused value is more precise, because it has the value's location.
  const hasError = unusedDiagnostics.some(({ severity }) => severity === "error");
  return ir.coercionError && !hasError ? [...unusedDiagnostics, ir.coercionError] : unusedDiagnostics;
}

const allBlocks = (ir: KernelIR): readonly Block[] => [...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block)];

/** Diagnostics for flags and string constexprs that the body reads and no statement uses. */
function unusedFlags(ir: KernelIR, mayBeCoerced: boolean): readonly Diagnostic[] {
  if (ir.flags.size === 0) return [];
  const used = new Set<Value>();
  for (const block of allBlocks(ir)) walkUses(block, (value) => used.add(value));
  return [...ir.flags]
    .filter(([flag]) => !used.has(flag))
    .map(([{ parameter = "given", type }, at]) =>
      // A comparison of a string with `===` is false, however the string is coerced.
      mayBeCoerced || isStringType(type)
        ? errorDiagnostic(unusedValue.parameter(parameter, isStringType(type)), at)
        : warning(unusedValue.flag(parameter), at),
    );
}

const isStringType = (type: Type): boolean => type.kind === "constexpr" && type.of === "string";

function isBooleanType(type: Type): boolean {
  return type.kind === "constexpr" ? type.of === "bool" : type.kind === "tile" && type.dtype === "int1";
}

/**
 * The statements whose results have no uses. Statements are visited in reverse order, because uses follow definitions.
 */
function unusedIn(block: Block): readonly (OpStatement | ReadStatement)[] {
  const used = new Set<Value>();
  const unused: (OpStatement | ReadStatement)[] = [];
  const use = (argument: Argument): void => valuesIn(argument).forEach((value) => used.add(value));
  const visit = ({ statements, yields }: Block, results: readonly Value[] | undefined): void => {
    for (const [i, argument] of yields.entries()) {
      const result = results?.[i];
      if (!result || used.has(result)) use(argument);
    }
    for (const statement of statements.toReversed()) {
      if (mayBeUnused(statement) && !resultsOf(statement).some((value) => used.has(value))) unused.unshift(statement);
      if (statement.kind === "for") visit(statement.body, undefined);
      if (statement.kind === "while") [statement.body, statement.condition].forEach((each) => visit(each, undefined));
      if (statement.kind === "if")
        [statement.otherwise, statement.then].forEach((branch) => visit(branch, statement.results));
      argumentsOf(statement).forEach(use);
    }
  };
  visit(block, undefined);
  return unused;
}

/** True if a statement's only purpose is its results. */
function mayBeUnused(statement: Statement): statement is OpStatement | ReadStatement {
  if (statement.kind === "read") return true;
  if (statement.kind !== "op" || statement.results.length === 0) return false;
  return statement.op.effect === "pure" || statement.op.effect === "read";
}
