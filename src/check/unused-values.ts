/**
 * Values without uses. JavaScript treats every traced value as truthy without calling it, so an unused boolean may have
 * been meant as a condition. If the engine has falsy objects, the trace has detected whether JavaScript coerced the
 * value. If it did not, the value is as harmless as any other. On other engines this is unknown, and the kernel is
 * rejected.
 */
import { unusedValue } from "../diagnostics/catalog/control-codes.js";
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import { hasFalsyObjects } from "../ir/falsy-objects.js";
import type { Argument, Block, KernelIR, OpStatement, ReadStatement, Statement, Value } from "../ir/nodes.js";
import { argumentsOf, bodiesOf, hostBlocksOf, resultsOf, valuesIn, walkUses } from "../ir/walk.js";
import type { Type } from "../types/types.js";

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
