/**
 * The dtypes of scalars inside a kernel. Triton's compiler takes them from the annotations; its interpreter takes them
 * from the values, so that a float is a number of Python and an int64 of 3 an int32. A cast on the first line gives
 * both the declared dtype. In the compiler, a cast to the own dtype is nothing.
 */
import { type DTypeName, type Elem, isInt } from "../../types/dtype.js";
import { isValue, type KernelIR, paramsOf, type ScalarParam, type Statement, type Value } from "../../ir/nodes.js";
import { argumentsOf, blocksOf, valuesIn, walkAll } from "../../ir/walk.js";
import * as py from "../syntax/py-build.js";
import type { Expression, Statement as PyStatement } from "../syntax/py.js";

/**
 * The dtype in which a launch passes a scalar. Triton's launcher truncates a number to bfloat16 instead of rounding it,
 * so the kernel rounds.
 */
export const passedDType = (dtype: Elem): Elem => (dtype === "bfloat16" ? "float32" : dtype);

/** The first lines of a kernel: the scalars whose dtype its results depend on. */
export function scalarCasts(ir: KernelIR, parameters: ReadonlyMap<Value, Expression>): readonly PyStatement[] {
  const casts = scalarsToCast(ir).map(({ value, dtype }) => {
    const name = parameters.get(value)!;
    return py.assign(name, castOf(name, dtype as DTypeName));
  });
  return casts.length === 0 ? [] : [py.comment("Triton's interpreter ignores these annotations."), ...casts];
}

function castOf(name: Expression, dtype: DTypeName): Expression {
  const cast = (to: DTypeName) => py.call("tl.full", py.list(), name, py.dotted(`tl.${to}`));
  // The interpreter keeps an int64 from 2**31 to 2**32 as a uint32. A cast to int64 leaves it so.
  return dtype === "int64" ? py.call(py.attribute(cast("uint64"), "to"), py.dotted("tl.int64")) : cast(dtype);
}

function scalarsToCast(ir: KernelIR): readonly ScalarParam[] {
  const scalars = paramsOf(ir, "scalar").filter(({ dtype }) => dtype !== "int32" && dtype !== "int1");
  const values = new Map(scalars.map(({ value, dtype }) => [value, dtype as DTypeName]));
  const dependent = new Set<Value>();
  walkAll(ir, (statement) => {
    for (const value of usedIn(statement)) {
      const dtype = values.get(value);
      if (dtype !== undefined && !isConvertedTo(dtype, statement, values)) dependent.add(value);
    }
  });
  return scalars.filter(({ value }) => dependent.has(value));
}

const usedIn = (statement: Statement): readonly Value[] =>
  [...argumentsOf(statement), ...blocksOf(statement).flatMap(({ yields }) => yields)].flatMap(valuesIn);

/** True if an operator converts a number of Python to this dtype, which is that of its other operand. */
function isConvertedTo(dtype: DTypeName, statement: Statement, scalars: ReadonlyMap<Value, DTypeName>): boolean {
  if (isInt(dtype) || dtype === "bfloat16" || statement.kind !== "op" || statement.op.spelling.form !== "infix")
    return false;
  return statement.operands.some(
    (operand) =>
      isValue(operand) && !scalars.has(operand) && operand.type.kind === "tile" && operand.type.dtype === dtype,
  );
}
