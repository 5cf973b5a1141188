/**
 * Scores times a number above 0. Their largest is the largest product times that number, bit for bit, since rounding keeps
 * the order. So one product takes the place of one for each key, and the others join the differences in exponents.
 */
import { type Argument, isLiteral, isValue, type OpStatement, type Statement, type Value } from "../../../ir/nodes.js";
import { typedArguments } from "../../../ir/typed.js";
import { opOf } from "../../../ops/define.js";
import { max } from "../../../ops/reduce.js";
import { ANY_VALUE, type NumberClasses, classify, classesIn, ONE, POSITIVE } from "../../../symbolic/number-class.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { isScalar } from "./block-index.js";

export interface ScaledScores {
  readonly products: Value;
  readonly factor: Argument;
}

/** The products of scores that a number above 0 scales. */
export function scaledScores(
  form: AttentionPattern,
  made: ReadonlyMap<Value, Statement>,
): ReadonlyMap<Value, ScaledScores> {
  const found = new Map<Value, ScaledScores>();
  for (const { turns, scores } of form.loops) {
    const [products] = scores.results as readonly [Value];
    for (const statement of turns.body.statements) {
      if (statement.kind !== "op" || statement.op.facts.integer !== "product") continue;
      const [x, y] = statement.operands as readonly [Argument, Argument];
      const factor = x === products ? y : y === products ? x : undefined;
      if (factor !== undefined && isScalar(factor) && isAbove(factor, form, made))
        found.set(statement.results[0]!, { products, factor });
    }
  }
  return found;
}

/** Whether the op takes the largest element of each row. */
export const isLargestOfRows = ({ op, options }: OpStatement): boolean =>
  op === opOf(max) && Object.keys(options).length === 0;

function isAbove(argument: Argument, form: AttentionPattern, made: ReadonlyMap<Value, Statement>): boolean {
  return classesIn(kindsOf(argument, form, made)).every((kind) => kind === ONE || kind === POSITIVE);
}

/** The kinds of a number that follows from literals and from sizes of tiles, which are above 0. */
function kindsOf(argument: Argument, form: AttentionPattern, made: ReadonlyMap<Value, Statement>): NumberClasses {
  if (isLiteral(argument)) return classify(Number(argument.value));
  if (!isValue(argument)) return ANY_VALUE;
  const { type } = argument;
  if (type.kind === "constexpr") return form.shape.includes(type.text) ? POSITIVE : ANY_VALUE;
  const statement = made.get(argument);
  const rule = statement?.kind === "op" ? statement.op.proof.classTransfer : undefined;
  if (statement?.kind !== "op" || !rule) return ANY_VALUE;
  const names = Object.keys(statement.op.operands);
  const given = statement.operands.map((each, i): readonly [string, NumberClasses] | undefined =>
    each && (isValue(each) || isLiteral(each)) ? [names[i]!, kindsOf(each, form, made)] : undefined,
  );
  const [first, second, third] = given.filter((each) => each !== undefined);
  if (!first || third) return ANY_VALUE;
  const context = { args: typedArguments(statement), float: true };
  let kinds = 0;
  for (const x of classesIn(first[1]))
    for (const y of classesIn(second?.[1] ?? ONE))
      kinds |= rule({ [first[0]]: x, ...(second && { [second[0]]: y }) }, context);
  return kinds;
}
