/**
 * Numbers that only become offsets of pointers, by sums, products and moves of lanes. Where they wrap on the way, the offset of a lane that is
 * in bounds is right all the same: int32 counts modulo 2^32, and the wrapper refuses tensors that it does not reach.
 */
import { type Argument, isValue, type KernelIR, type OpStatement, type Statement, type Value } from "../../ir/nodes.js";
import type { IntegerSemantics } from "../../symbolic/integer-semantics.js";
import { argumentsOf, valuesIn, walkAll } from "../../ir/walk.js";

const MODULAR: ReadonlySet<IntegerSemantics | undefined> = new Set<IntegerSemantics>(["sum", "difference", "product"]);

const yieldedIn = (statement: Statement): readonly Argument[] =>
  statement.kind === "if"
    ? [...statement.then.yields, ...statement.otherwise.yields]
    : statement.kind === "while"
      ? statement.condition.yields
      : [];

export function offsetsOnly(ir: KernelIR): (value: Value) => boolean {
  const uses = new Map<Value, OpStatement[]>();
  const elsewhere = new Set<Value>();
  const note = (argument: Argument | undefined, of: OpStatement | undefined): void => {
    if (argument === undefined) return;
    if (of && isValue(argument)) uses.set(argument, [...(uses.get(argument) ?? []), of]);
    else for (const value of valuesIn(argument)) elsewhere.add(value);
  };
  walkAll(ir, (statement) => {
    if (statement.kind !== "op") {
      [...argumentsOf(statement), ...yieldedIn(statement)].forEach((each) => note(each, undefined));
      return;
    }
    const { operands, options } = statement;
    operands.forEach((each) => note(each, statement));
    Object.values(options).forEach((each) => note(each, undefined));
  });
  for (const { body } of ir.functions) body.yields.forEach((each) => note(each, undefined));
  const known = new Map<Value, boolean>();
  const isOnly = (value: Value): boolean => {
    let only = known.get(value);
    if (only !== undefined) return only;
    known.set(value, false);
    only = !elsewhere.has(value) && (uses.get(value) ?? []).every((use) => isOffsetIn(use));
    known.set(value, only);
    return only;
  };
  const isOffsetIn = ({ op, results }: OpStatement): boolean => {
    const [result] = results;
    const isModular = MODULAR.has(op.facts.integer) || op.proof.lane !== undefined;
    if (!result || !isModular) return false;
    return result.type.kind === "pointer" || (result.type.kind === "tile" && isOnly(result));
  };
  return isOnly;
}
