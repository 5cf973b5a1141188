/** Tries `tl.where` around the operand of a fold: the lanes that its load masks then have a neutral value. */
import { type Argument, isList, isValue, type KernelIR, type OpStatement, type Statement, Value } from "../ir/nodes.js";
import type { Op } from "../ir/op.js";
import { lt } from "../ops/compare.js";
import { opOf } from "../ops/define.js";
import { where } from "../ops/select.js";
import type { Type } from "../types/types.js";
import { changeOps, viewsAt } from "./mends.js";

interface Lanes {
  readonly statements: readonly Statement[];
  readonly mask: Value;
}

/** The kernel that selects `value` in the lanes that `load` masks. Undefined if these lanes have no simple mask. */
export function selectLanes(
  ir: KernelIR,
  load: OpStatement,
  isFold: (statement: OpStatement) => boolean,
  value: number,
): KernelIR | undefined {
  const lanes = loadedLanes(ir, load);
  if (!lanes) return undefined;
  let isChanged = false;
  const body = changeOps(ir.body, (each): readonly Statement[] => {
    const [operand, ...others] = each.operands;
    if (!isFold(each) || !isValue(operand) || shapeText(operand) !== shapeText(lanes.mask)) return [each];
    isChanged = true;
    const neutral: Argument = { kind: "literal", value };
    const [selection, selected] = newStatement(opOf(where), [lanes.mask, operand, neutral], operand.type, operand);
    return [...lanes.statements, selection, { ...each, operands: [selected, ...others] }];
  });
  return isChanged ? { ...ir, body } : undefined;
}

const shapeText = ({ type }: Value): string | undefined => (type.kind === "tile" ? type.shape.join() : undefined);

/** The mask of a load, or the comparison of the only tile of indices of its view with the size of their axis. */
function loadedLanes(ir: KernelIR, load: OpStatement): Lanes | undefined {
  const { mask } = load.options;
  if (mask) return isValue(mask) ? { statements: [], mask } : undefined;
  const [view] = viewsAt(ir, [{ at: load.location }]);
  const [tensor, indices] = view?.operands ?? [];
  const param = ir.params.find((each) => each.value === tensor);
  if (!isList(indices) || param?.kind !== "tensor") return undefined;
  const [tile, ...others] = indices.flatMap((index, axis) => {
    const size = param.dims[axis];
    return size && isValue(index) && shapeText(index) ? [{ index, size }] : [];
  });
  if (!tile || others.length > 0 || tile.index.type.kind !== "tile") return undefined;
  const type = { ...tile.index.type, dtype: "int1" } as const;
  const [statement, result] = newStatement(opOf(lt), [tile.index, tile.size], type, tile.index);
  return { statements: [statement], mask: result };
}

/** Ids of the trace are not negative. */
let nextId = -1;

function newStatement(
  op: Op,
  operands: readonly Argument[],
  type: Type,
  { scope, location }: Value,
): readonly [OpStatement, Value] {
  const result = new Value(nextId--, type, scope, location, undefined, true, op);
  return [{ kind: "op", op, operands, options: {}, results: [result], location }, result];
}
