/**
 * Loads of a turn besides its keys and values, such as biases and flags of keys, or around the loops: those that any warp
 * may make by itself at any time. The tensor is an input, which no program writes, and what the load reads follows from no
 * other load and from no state.
 */
import {
  type Argument,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf, definitions, valuesIn } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { load } from "../../../ops/memory.js";
import type { Dim } from "../../../types/shape.js";
import { valuesUsedBy } from "./backward-slice.js";
import { notSpecializable } from "./not-specializable.js";

type Made = ReadonlyMap<Value, Statement>;

/** @throws Unsuited where the load is another. */
export function checkRegisterLoad(statement: OpStatement, ir: KernelIR, made: Made): void {
  const { op, operands, options, at } = statement;
  if (op !== opOf(load)) notSpecializable(`it reads with tl.${op.name} what is neither queries, keys nor values`, at);
  const volatile = "volatile" in options;
  if (volatile) notSpecializable("it has a volatile load", at);
  const [address] = operands;
  if (!isValue(address!) || address.type.kind !== "view")
    return notSpecializable("it loads by pointers; index the tensor with .at or .gather", at);
  const behind = statementsBehind(argumentsOf(statement), made);
  const tensors = new Set(behind.flatMap((each) => (each.kind === "op" ? valuesUsedBy(each) : [])));
  const read = ir.params.find((param) => param.kind === "tensor" && tensors.has(param.value));
  if (read?.kind === "tensor" && (read.role !== "in" || read.optional))
    notSpecializable(`it loads ${read.name}, which is no plain input`, at);
  if (behind.some((each) => each.kind === "read")) notSpecializable("what it loads follows from state", at);
  if (behind.some((each) => each.kind === "op" && each.op.effect !== "pure"))
    notSpecializable("what it loads follows from what else it loads", at);
}

/** Whether a statement is such a load. */
export const isLoad = (statement: Statement): statement is OpStatement =>
  statement.kind === "op" && statement.op === opOf(load);

/**
 * Whether a load reads the same for each length of the dimension: its tile has no such axis, and where it lies does not
 * follow from `starts`, which count in steps of that length.
 */
export function isLoadIndependentOf(
  statement: OpStatement,
  ir: KernelIR,
  length: Dim,
  starts: ReadonlySet<Value>,
): boolean {
  const behind = [statement, ...statementsBehind(argumentsOf(statement), definitions(ir.body))];
  const values = behind.flatMap((each) => argumentsOf(each).flatMap(valuesIn)).concat(statement.results);
  const isAxis = ({ type }: Value) => (type.kind === "tile" || type.kind === "view") && type.shape.includes(length);
  return !values.some((value) => isAxis(value) || starts.has(value));
}

/** All statements from which the arguments follow. */
function statementsBehind(roots: readonly Argument[], made: Made): readonly Statement[] {
  const behind = new Set<Statement>();
  const open = roots.flatMap(valuesIn);
  while (open.length > 0) {
    const statement = made.get(open.pop()!);
    if (!statement || behind.has(statement)) continue;
    behind.add(statement);
    // A loop makes its index of its bounds.
    open.push(...(statement.kind === "for" ? argumentsOf(statement).flatMap(valuesIn) : valuesUsedBy(statement)));
  }
  return [...behind];
}
