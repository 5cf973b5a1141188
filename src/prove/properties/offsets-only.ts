/**
 * Finds values that are only used as the whole offset of a pointer, through sums, products and lane permutations.
 * Intermediate wrapping does not change the offset of an in-bounds lane: int32 arithmetic is modulo 2^32, and the
 * wrapper rejects tensors beyond int32 addressing. A pointer that moves more than once adds offsets that are widened to
 * 64 bits one by one. Their sum is exact where none is negative, because each is then at most the sum, which is in
 * bounds. Otherwise each of them must be exact.
 */
import { LaunchFacts } from "../../analysis/launch-facts.js";
import { nonNegativeValues } from "../../analysis/signs.js";
import { type Argument, isValue, type KernelIR, type OpStatement, type Statement, type Value } from "../../ir/nodes.js";
import type { IntegerSemantics } from "../../symbolic/integer-semantics.js";
import { argumentsOf, bodiesOf, definitions, valuesIn, walkAll } from "../../ir/walk.js";

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
  const isNonNegative = nonNegativeValues(ir, new LaunchFacts(ir));
  const uses = new Map<Value, OpStatement[]>();
  const definitionsOf = definitions(...bodiesOf(ir));
  const moves: OpStatement[] = [];
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
    if (isMove(statement)) moves.push(statement);
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
  const isOffsetIn = (statement: OpStatement): boolean => {
    const { op, results } = statement;
    const [result] = results;
    const isModular = MODULAR.has(op.facts.integer) || op.proof.lane !== undefined;
    if (!result || !isModular) return false;
    if (result.type.kind === "pointer") return areForward || !isRepeated(statement);
    return result.type.kind === "tile" && isOffsetOnly(result);
  };
  /** True if the op moves a pointer that other ops move, too. */
  const isRepeated = ({ operands, results: [result] }: OpStatement): boolean =>
    !operands.some((operand) => operand !== undefined && isValue(operand) && pointerParams.has(operand)) ||
    (result !== undefined && isMovedAgain(result));
  const isMovedAgain = (pointer: Value): boolean =>
    otherUses.has(pointer) ||
    (uses.get(pointer) ?? []).some((use) => {
      const [next] = use.results;
      return next?.type.kind === "pointer" && (isMove(use) || isMovedAgain(next));
    });
  /** A loaded number counts as one that is not negative: no access is in bounds of which an index is negative. */
  const isForward = (operand: Argument | undefined): boolean => {
    if (operand === undefined || isPointer(operand) || isNonNegative(operand)) return true;
    const statement = isValue(operand) ? definitionsOf.get(operand) : undefined;
    if (statement?.kind !== "op") return false;
    const { op, operands } = statement;
    if (op.effect !== "pure") return true;
    const keepsSign = op.facts.integer === "sum" || op.facts.integer === "product" || op.proof.lane !== undefined;
    return keepsSign && operands.every(isForward);
  };
  const areForward = moves
    .filter(isRepeated)
    .every(({ op, operands }) => op.facts.integer === "sum" && operands.every(isForward));
  return isOffsetOnly;
}

const isPointer = (argument: Argument): boolean => isValue(argument) && argument.type.kind === "pointer";

const isMove = ({ op, results: [result] }: OpStatement): boolean =>
  result?.type.kind === "pointer" && MODULAR.has(op.facts.integer);
