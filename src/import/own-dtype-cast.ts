/**
 * Assignments of a name to itself, as they are or as casts of a scalar to its own dtype. Emitted kernels have such casts
 * for Triton's interpreter. A scalar parameter of the DSL has its declared dtype everywhere.
 */
import { type Expression, isSequence, type Name, type Statement } from "./tree.js";
import { elementOf } from "./value.js";

/** True for `x = x`, and for `p = tl.full([], p, tl.float32)` where `p` is a float32. */
export function keepsItsValue(statement: Statement): boolean {
  if (statement.kind !== "Assign" || statement.targets.length !== 1) return false;
  const [target] = statement.targets;
  if (target?.kind !== "Name") return false;
  if (statement.value.kind === "Name") return statement.value.id === target.id;
  const source = castScalar(statement.value);
  if (source?.id !== target.id) return false;
  return source.types.length === 1 && elementOf(source) === elementOf(statement.value);
}

/** The name in `tl.full([], name, dtype)` or, of an int64, `tl.full([], name, tl.uint64).to(tl.int64)`. */
function castScalar(node: Expression): Name | undefined {
  if (node.kind !== "Call") return undefined;
  const { func, args, callee } = node;
  if (func.kind === "Attribute" && func.attr === "to" && elementOf(func.value) === "uint64")
    return elementOf(node) === "int64" ? castScalar(func.value) : undefined;
  const [shape, value] = args;
  const isScalar = callee?.what === "function" && callee.name === "tl.full" && shape !== undefined && isSequence(shape);
  return isScalar && shape.elts.length === 0 && value?.kind === "Name" ? value : undefined;
}
