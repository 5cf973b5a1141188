/**
 * Loads of an iteration apart from its keys and values, such as biases and key flags, and loads outside the loops. Any
 * warp may perform them independently at any time: the tensor is an input that no program writes, and the address
 * depends on no other load and no loop-carried variable.
 */
import {
  type Argument,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, definitions, valuesIn } from "../../../ir/walk.js";
import { opOf } from "../../../ops/define.js";
import { load } from "../../../ops/memory.js";
import type { Dim } from "../../../types/shape.js";
import { valuesUsedBy } from "./backward-slice.js";
import { notSpecializable } from "./not-specializable.js";

type Definitions = ReadonlyMap<Value, Statement>;

/**
 * The register loads of a statement that computes, reads a variable, or loads, and of branches of such statements.
 *
 * @throws {@link NotSpecializable} if it does anything else, or a load does not satisfy these conditions.
 */
export function registerLoadsIn(
  statement: Statement,
  ir: KernelIR,
  definitionsOf: Definitions,
): readonly OpStatement[] {
  if (statement.kind === "read") return [];
  if (statement.kind === "op" && statement.op.effect === "pure") return [];
  if (statement.kind === "op" && statement.op.effect === "read") {
    checkRegisterLoad(statement, ir, definitionsOf);
    return [statement];
  }
  if (statement.kind !== "if")
    return notSpecializable("it does more than load, multiply and compute", statement.location);
  return blocksOf(statement).flatMap(({ statements }) =>
    statements.flatMap((each) => registerLoadsIn(each, ir, definitionsOf)),
  );
}

function checkRegisterLoad(statement: OpStatement, ir: KernelIR, definitionsOf: Definitions): void {
  const { op, operands, options, location: at } = statement;
  if (op !== opOf(load))
    notSpecializable(`it reads with tl.${op.name} a tensor other than queries, keys and values`, at);
  const volatile = "volatile" in options;
  if (volatile) notSpecializable("it has a volatile load", at);
  const [address] = operands;
  if (!isValue(address) || address.type.kind !== "view")
    return notSpecializable("it loads by pointers; index the tensor with .at or .gather", at);
  const dependencies = dependenciesOf(argumentsOf(statement), definitionsOf);
  const tensors = new Set(dependencies.flatMap((each) => (each.kind === "op" ? valuesUsedBy(each) : [])));
  const param = ir.params.find((param) => param.kind === "tensor" && tensors.has(param.value));
  if (param?.kind === "tensor" && (param.role !== "in" || param.optional))
    notSpecializable(`it loads ${param.name}, which is no plain input`, at);
  if (dependencies.some((each) => each.kind === "read")) notSpecializable("its loads depend on state", at);
  if (dependencies.some((each) => each.kind === "op" && each.op.effect !== "pure"))
    notSpecializable("its loads depend on other loads", at);
}

/** True if a statement is a load, whatever its address. */
export const isLoad = (statement: Statement): statement is OpStatement =>
  statement.kind === "op" && statement.op === opOf(load);

/**
 * True if a load reads the same elements for each length of the dim. Its tile has no axis of that length, and its
 * address does not depend on `starts`, which are multiples of that length.
 */
export function isLoadIndependentOf(
  statement: OpStatement,
  ir: KernelIR,
  length: Dim,
  starts: ReadonlySet<Value>,
): boolean {
  const dependencies = [statement, ...dependenciesOf(argumentsOf(statement), definitions(ir.body))];
  const values = dependencies.flatMap((each) => argumentsOf(each).flatMap(valuesIn)).concat(statement.results);
  const isAxis = ({ type }: Value) => (type.kind === "tile" || type.kind === "view") && type.shape.includes(length);
  return !values.some((value) => isAxis(value) || starts.has(value));
}

/** All statements that the arguments depend on. */
function dependenciesOf(roots: readonly Argument[], definitionsOf: Definitions): readonly Statement[] {
  const dependencies = new Set<Statement>();
  // The list grows during the iteration.
  const worklist = roots.flatMap(valuesIn);
  for (const value of worklist) {
    const statement = definitionsOf.get(value);
    if (!statement || dependencies.has(statement)) continue;
    dependencies.add(statement);
    // A loop's index depends on its bounds, not on its body.
    worklist.push(...(statement.kind === "for" ? argumentsOf(statement).flatMap(valuesIn) : valuesUsedBy(statement)));
  }
  return [...dependencies];
}
