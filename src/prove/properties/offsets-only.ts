/**
 * Finds values that are only used as the whole offset of a pointer, through sums, products and lane permutations.
 * Intermediate wrapping does not change the offset of an in-bounds lane: int32 arithmetic is modulo 2^32, and the
 * wrapper rejects tensors beyond int32 addressing. A pointer that moves twice adds two offsets, each widened to 64 bits
 * before, so that each of them must be exact.
 */
import { type Argument, isValue, type KernelIR, type OpStatement, type Statement, type Value } from "../../ir/nodes.js";
import type { IntegerSemantics } from "../../symbolic/integer-semantics.js";
import { argumentsOf, valuesIn, walkAll } from "../../ir/walk.js";

const MODULAR: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>(["sum", "difference", "product"]);

function yieldsOf(statement: Statement): readonly Argument[] {
  if (statement.kind === "if") return [...statement.then.yields, ...statement.otherwise.yields];
  return statement.kind === "while" ? statement.condition.yields : [];
}

export function offsetsOnly(ir: KernelIR): (value: Value) => boolean {
  const pointerParams = new Set(
    ir.params.flatMap((param) => {
      if (param.kind === "tensor") return [param.pointer];
      return param.kind === "pointer" ? [param.value] : [];
    }),
  );
  const uses = new Map<Value, OpStatement[]>();
  const otherUses = new Set<Value>();
  const recordUse = (argument: Argument | undefined, op: OpStatement | undefined): void => {
    if (argument === undefined) return;
    if (op && isValue(argument)) uses.set(argument, [...(uses.get(argument) ?? []), op]);
    else for (const value of valuesIn(argument)) otherUses.add(value);
  };
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") {
      [...argumentsOf(statement), ...yieldsOf(statement)].forEach((argument) => recordUse(argument, undefined));
      return;
    }
    const { operands, options } = statement;
    operands.forEach((operand) => recordUse(operand, statement));
    Object.values(options).forEach((option) => recordUse(option, undefined));
  });
  for (const { body } of ir.functions) body.yields.forEach((argument) => recordUse(argument, undefined));
  const cache = new Map<Value, boolean>();
  const isOffsetOnly = (value: Value): boolean => {
    let result = cache.get(value);
    if (result !== undefined) return result;
    cache.set(value, false);
    result = !otherUses.has(value) && (uses.get(value) ?? []).every((use) => isOffsetIn(use));
    cache.set(value, result);
    return result;
  };
  const isOffsetIn = ({ op, operands, results }: OpStatement): boolean => {
    const [result] = results;
    const isModular = MODULAR.has(op.facts.integer) || op.proof.lane !== undefined;
    if (!result || !isModular) return false;
    if (result.type.kind === "pointer") return operands.some(isParam) && !isMovedAgain(result);
    return result.type.kind === "tile" && isOffsetOnly(result);
  };
  const isParam = (operand: Argument | undefined): boolean =>
    operand !== undefined && isValue(operand) && pointerParams.has(operand);
  const isMovedAgain = (pointer: Value): boolean =>
    otherUses.has(pointer) ||
    (uses.get(pointer) ?? []).some(({ op, results: [next] }) => {
      if (next?.type.kind !== "pointer") return false;
      return MODULAR.has(op.facts.integer) || isMovedAgain(next);
    });
  return isOffsetOnly;
}
