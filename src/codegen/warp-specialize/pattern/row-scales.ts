/**
 * The scales of a product's rows. If they lie side by side, TMA copies those of an iteration next to the blocks, so that
 * no consumer waits for global memory.
 */
import { type Argument, type KernelIR, type Statement, type Value } from "../../../ir/nodes.js";
import { argumentsOf, valuesIn } from "../../../ir/walk.js";
import { members } from "../../../types/dtype.js";
import { valuesUsedBy } from "./backward-slice.js";
import { type RowAccess, rowAccess } from "./block-access.js";
import { type BlockIndex, isSameBlock } from "./block-index.js";
import { isLoad } from "./register-loads.js";

const DTYPES: ReadonlySet<string> = new Set(["float16", "bfloat16", "float32"]);

/**
 * @param statements Those of the loop.
 * @param rows The index of the rows of the block that is multiplied.
 */
export function rowScalesIn(
  ir: KernelIR,
  statements: readonly Statement[],
  rows: BlockIndex,
  definitionsOf: ReadonlyMap<Value, Statement>,
): RowAccess | undefined {
  const scales = statements.filter(isLoad).flatMap((each) => rowAccess(each, ir, definitionsOf) ?? []);
  return scales.find(({ tensor, lead, index, statement }) => {
    const { wraps } = index;
    // The store masks rows that wrap, as those of the multiplied block.
    const isWithin = wraps === undefined || (wraps === rows.wraps && wraps === tensor.dims.at(-1));
    return (
      isSameBlock(index, rows) &&
      isWithin &&
      tensor.role === "in" &&
      !tensor.optional &&
      members(tensor.dtype).every((each) => DTYPES.has(each)) &&
      lead.every((each) => isComputed(each, definitionsOf)) &&
      areUsedByLane(statement.results, statements)
    );
  });
}

/** True if a value follows from sizes, programs and loop indices alone. */
function isComputed(argument: Argument, definitionsOf: ReadonlyMap<Value, Statement>): boolean {
  return valuesIn(argument).every((value) => {
    const definition = definitionsOf.get(value);
    if (definition === undefined || definition.kind === "for") return true;
    const isPure = definition.kind === "op" && definition.op.effect === "pure";
    return isPure && argumentsOf(definition).every((each) => isComputed(each, definitionsOf));
  });
}

/** True if ops combine the numbers only lane by lane, before they add the axis of the product's columns. */
function areUsedByLane(values: readonly Value[], statements: readonly Statement[]): boolean {
  return statements.every((statement) => {
    if (!valuesUsedBy(statement).some((value) => values.includes(value))) return true;
    if (statement.kind !== "op") return false;
    const { op, results } = statement;
    if (op.spelling.form === "expand") return true;
    const isVector = ({ type }: Value) => type.kind === "tile" && type.shape.length === 1;
    const isLanewise = op.facts.lanewise === true || op.facts.isIdentity === true;
    return isLanewise && results.every(isVector) && areUsedByLane(results, statements);
  });
}
