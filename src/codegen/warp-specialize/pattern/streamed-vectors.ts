/** Vectors that TMA loads: consecutive numbers along the last axis of a tensor, one for each row of a loaded block. */
import {
  type Argument,
  isList,
  isValue,
  type KernelIR,
  type OpStatement,
  paramsOf,
  type Statement,
  type TensorParam,
  type Value,
} from "../../../ir/nodes.js";
import { isLoad } from "./register-loads.js";
import { isRedundant } from "./block-access.js";
import { blockIndexOf, extentDim, isScalar } from "./block-index.js";
import type { Dim } from "../../../types/shape.js";

export interface ColumnVector {
  readonly tensor: TensorParam;
  /** Indices of the axes before the last one. */
  readonly lead: readonly Argument[];
  /** The scalars whose sum is the index of the first number. */
  readonly starts: readonly Argument[];
  readonly extent: Argument;
  readonly statement: OpStatement;
}

/** TMA's limit of five axes, minus the last one. */
const MAX_LEAD_AXES = 4;

const isInt32 = (start: Argument): boolean =>
  !isValue(start) || start.type.kind !== "tile" || start.type.dtype === "int32";

/** The vector that a statement loads. Undefined if TMA cannot load it, or if it has another length. */
export function columnVector(
  statement: Statement,
  columns: Dim,
  ir: KernelIR,
  definitionsOf: ReadonlyMap<Value, Statement>,
): ColumnVector | undefined {
  if (!isLoad(statement)) return undefined;
  const view = definitionsOf.get(statement.operands[0] as Value);
  if (view?.kind !== "op" || view.op.lowering?.view !== "grid") return undefined;
  const [base, indices] = view.operands;
  const tensor = paramsOf(ir, "tensor").find(({ value }) => value === base);
  if (!tensor || tensor.role !== "in" || tensor.optional || !indices || !isList(indices)) return undefined;
  const lead = indices.slice(0, -1);
  const index = blockIndexOf(indices.at(-1), definitionsOf);
  if (!index || index.wraps !== undefined || lead.length === 0 || !lead.every(isScalar)) return undefined;
  const hasOptions = Object.entries(statement.options).some(([name, value]) => !isRedundant(name, value));
  const { starts, extent } = index;
  if (hasOptions || extentDim(extent) !== columns || tensor.dtype !== "float32") return undefined;
  if (lead.length > MAX_LEAD_AXES || ![...lead, ...starts].every(isInt32)) return undefined;
  return { tensor, lead, starts, extent, statement };
}
