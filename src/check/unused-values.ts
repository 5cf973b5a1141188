/**
 * Values that nothing uses. JavaScript takes every traced value for true without asking it, so a truth value that the
 * program does not use may have been meant to decide something. Where the engine has objects that it takes for false, the
 * trace has found out whether JavaScript asked: if it did not, the value is as harmless as any other. Elsewhere nothing
 * tells, and the kernel is refused.
 */
import { unusedValue } from "../diagnostics/catalog/control-codes.js";
import { type Diagnostic, errorDiagnostic, warning } from "../diagnostics/diagnostic.js";
import { hasFalsyObjects } from "../ir/falsy-objects.js";
import type { Argument, Block, KernelIR, OpStatement, ReadStatement, Statement, Value } from "../ir/nodes.js";
import { argumentsOf, bodiesOf, hostBlocksOf, resultsOf, valuesIn, walkUses } from "../ir/walk.js";
import type { Type } from "../types/types.js";

/** `canTell`: whether the trace has asked if JavaScript decides by a truth value. */
export function checkUnused(ir: KernelIR, canObserveCoercion = hasFalsyObjects()): readonly Diagnostic[] {
  const unused = allBlocks(ir).flatMap(unusedIn);
  const mayBeTaken = ir.coercionError !== undefined || !canObserveCoercion;
  // A line that is traced several times says it once.
  const found = new Map<string, Diagnostic>();
  for (const statement of unused) {
    const { at } = statement;
    const name = statement.kind === "op" ? statement.op.name : "value";
    const isTruth = resultsOf(statement).some(({ type }) => isTruthType(type));
    const said =
      isTruth && mayBeTaken ? errorDiagnostic(unusedValue.truth(name), at) : warning(unusedValue.result(name), at);
    found.set(`${at?.file}:${at?.line}:${at?.column}:${name}`, said);
  }
  const unasked = [...found.values(), ...unusedFlags(ir, mayBeTaken)];
  // Of a value that nothing uses more is known: where it was made.
  const isKnown = unasked.some(({ severity }) => severity === "error");
  return ir.coercionError && !isKnown ? [...unasked, ir.coercionError] : unasked;
}

const allBlocks = (ir: KernelIR): readonly Block[] => [...bodiesOf(ir), ...hostBlocksOf(ir).map(({ block }) => block)];

/** Flags and words of the kernel that its body asks for and no statement uses. */
function unusedFlags(ir: KernelIR, mayBeTaken: boolean): readonly Diagnostic[] {
  if (ir.flags.size === 0) return [];
  const used = new Set<Value>();
  for (const block of allBlocks(ir)) walkUses(block, (value) => used.add(value));
  return [...ir.flags]
    .filter(([flag]) => !used.has(flag))
    .map(([{ parameter = "given", type }, at]) =>
      // `===` of a word is false whatever the word is taken for.
      mayBeTaken || isWordType(type)
        ? errorDiagnostic(unusedValue.parameter(parameter, isWordType(type)), at)
        : warning(unusedValue.flag(parameter), at),
    );
}

const isWordType = (type: Type): boolean => type.kind === "constexpr" && type.of === "string";

function isTruthType(type: Type): boolean {
  return type.kind === "constexpr" ? type.of === "bool" : type.kind === "tile" && type.dtype === "int1";
}

/** The statements whose results nothing uses, from the last to the first: uses come after what they use. */
function unusedIn(block: Block): readonly (OpStatement | ReadStatement)[] {
  const used = new Set<Value>();
  const found: (OpStatement | ReadStatement)[] = [];
  const use = (argument: Argument): void => valuesIn(argument).forEach((value) => used.add(value));
  const visit = ({ statements, yields }: Block, results: readonly Value[] | undefined): void => {
    yields.forEach((each, i) => (!results || used.has(results[i]!)) && use(each));
    for (const statement of statements.toReversed()) {
      if (mayBeUnused(statement) && !resultsOf(statement).some((value) => used.has(value))) found.unshift(statement);
      if (statement.kind === "for") visit(statement.body, undefined);
      if (statement.kind === "while") [statement.body, statement.condition].forEach((each) => visit(each, undefined));
      if (statement.kind === "if")
        [statement.otherwise, statement.then].forEach((arm) => visit(arm, statement.results));
      argumentsOf(statement).forEach(use);
    }
  };
  visit(block, undefined);
  return found;
}

/** Whether a statement does nothing but give its results. */
function mayBeUnused(statement: Statement): statement is OpStatement | ReadStatement {
  if (statement.kind === "read") return true;
  if (statement.kind !== "op" || statement.results.length === 0) return false;
  return statement.op.effect === "pure" || statement.op.effect === "read";
}
