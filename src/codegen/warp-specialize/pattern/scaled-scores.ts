/**
 * Scores multiplied by a positive number. Rounding is monotonic, so their maximum is bit for bit the maximum product
 * times that number. One multiplication per row therefore replaces one per key. The other multiplications become part
 * of the difference in the exponent.
 */
import { type Argument, isLiteral, isValue, type OpStatement, type Statement, type Value } from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { max } from "../../../ops/reduce.js";
import { ANY_VALUE, type NumberClasses, classify, classesIn, ONE, POSITIVE } from "../../../symbolic/number-class.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { isScalar } from "./block-index.js";

export interface ScaledScores {
  readonly products: Value;
  readonly factor: Argument;
}

/** The products of scores and a positive scalar. */
export function scaledScores(
  pattern: AttentionPattern,
  definitionsOf: ReadonlyMap<Value, Statement>,
): ReadonlyMap<Value, ScaledScores> {
  const scaled = new Map<Value, ScaledScores>();
  for (const { forStatement, scores } of pattern.loops) {
    const [products] = scores.results;
    for (const statement of forStatement.body.statements) {
      if (statement.kind !== "op" || statement.op.facts.integer !== "product") continue;
      const [result] = statement.results;
      const [x, y] = statement.operands;
      if (!result || (x !== products && y !== products)) continue;
      const factor = x === products ? y : x;
      if (factor !== undefined && isScalar(factor) && isPositive(factor, pattern, definitionsOf))
        scaled.set(result, { products, factor });
    }
  }
  return scaled;
}

/** True if the op is the maximum of each row. */
export const isRowMaximum = ({ op, options }: OpStatement): boolean =>
  op === opOf(max) && Object.keys(options).length === 0;

function isPositive(
  argument: Argument,
  pattern: AttentionPattern,
  definitionsOf: ReadonlyMap<Value, Statement>,
): boolean {
  return classesIn(numberClassesOf(argument, pattern, definitionsOf)).every(
    (numberClass) => numberClass === ONE || numberClass === POSITIVE,
  );
}

/** The classes of a number that depends on literals and on tile sizes, which are positive. */
function numberClassesOf(
  argument: Argument,
  pattern: AttentionPattern,
  definitionsOf: ReadonlyMap<Value, Statement>,
): NumberClasses {
  if (isLiteral(argument)) return classify(Number(argument.value));
  if (!isValue(argument)) return ANY_VALUE;
  const { type } = argument;
  if (type.kind === "constexpr") return pattern.shape.includes(type.text) ? POSITIVE : ANY_VALUE;
  const statement = definitionsOf.get(argument);
  const rule = statement?.kind === "op" ? statement.op.proof.classTransfer : undefined;
  if (statement?.kind !== "op" || !rule) return ANY_VALUE;
  const operandClasses = Object.keys(statement.op.operands).flatMap((name, i) => {
    const operand = statement.operands[i];
    if (!isValue(operand) && !isLiteral(operand)) return [];
    return [[name, numberClassesOf(operand, pattern, definitionsOf)] as const];
  });
  const [first, second, third] = operandClasses;
  if (!first || third) return ANY_VALUE;
  const context = { args: typedArguments(statement), isFloat: true };
  let classes = 0;
  for (const x of classesIn(first[1]))
    for (const y of classesIn(second?.[1] ?? ONE))
      classes |= rule({ [first[0]]: x, ...(second && { [second[0]]: y }) }, context);
  return classes;
}
