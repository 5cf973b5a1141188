/** Checks whether a specialized kernel may use another number of rows per program than the author's configs. */
import {
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type TensorParam,
  type Value,
} from "../../../ir/nodes.js";
import { bodiesOf, definitions, hostBlocksOf, valuesIn, walk, walkUses } from "../../../ir/walk.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { axisIn } from "./block-access.js";
import { axisOf, isProgram } from "./tile-schedule.js";
import { backwardSlice } from "./backward-slice.js";
import { isLoadIndependentOf } from "./register-loads.js";
import { blockIndexOf, extentDim } from "./block-index.js";

/**
 * True if the constexpr is only the number of rows of a program: it is a block length, a program's first row is its id
 * times the constexpr, and the grid has one program per block. All memory accesses must be blocks bounded by the
 * tensor, regardless of the author's requirements on sizes.
 */
export function isRowCountIndependent(ir: KernelIR, pattern: AttentionPattern): boolean {
  const [rows] = pattern.shape;
  const param = ir.params.find(({ name }) => name === rows);
  if (param?.kind !== "constexpr" || param.from !== "config") return false;
  const isRowCount = (value: Value) =>
    value === param.value || (value.type.kind === "constexpr" && value.type.text === rows);
  const firstRow = firstRowOf(ir, pattern, isRowCount);
  return (
    typeof rows === "string" &&
    firstRow !== undefined &&
    !hasDependentBounds(ir, pattern, firstRow) &&
    hasOnlyBlockAccesses(ir, pattern) &&
    isProgramIdOnlyOffset(ir, pattern, rows, firstRow) &&
    bodiesOf(ir).every((body) =>
      hasOnlyAllowedUses(body, isRowCount, (by, value) => by === firstRow || isLength(by, value)),
    ) &&
    hostBlocksOf(ir).every(({ block }) =>
      hasOnlyAllowedUses(block, isRowCount, (by) => block === ir.grid.block && isCount(pattern, by)),
    )
  );
}

/** The statement that computes a program's first row from its id and the constexpr. */
function firstRowOf(
  ir: KernelIR,
  { queries }: AttentionPattern,
  isRowCount: (value: Value) => boolean,
): OpStatement | undefined {
  const [start, extra] = queries.axes[0].starts;
  if (!isValue(start) || extra) return undefined;
  const definitionsOf = definitions(ir.body);
  const statement = definitionsOf.get(start);
  if (statement?.kind !== "op" || statement.op.facts.integer !== "product") return undefined;
  const isProgramId = (value: Value) => {
    const definition = definitionsOf.get(value);
    return definition !== undefined && isProgram(definition);
  };
  const factors = statement.operands.flatMap((each) => (each && isValue(each) ? [each] : []));
  return factors.some(isRowCount) && factors.some(isProgramId) ? statement : undefined;
}

/** True if a loop bound depends on the first row. Key blocks may then require that rows and keys divide each other. */
const hasDependentBounds = (ir: KernelIR, { loops }: AttentionPattern, firstRow: OpStatement): boolean =>
  backwardSlice(
    loops.flatMap(({ forStatement: { start, end } }) => [start, end]),
    ir.body.statements,
  ).includes(firstRow);

/** True if the program id is only used for the indices of its rows. */
function isProgramIdOnlyOffset(
  ir: KernelIR,
  { loads }: AttentionPattern,
  rows: string,
  firstRow: OpStatement,
): boolean {
  const programIds = programIdsOf(ir, firstRow);
  return (
    loads.every((each) => isLoadIndependentOf(each, ir, rows, programIds)) &&
    hasOnlyAllowedUses(
      ir.body,
      (value) => programIds.has(value),
      (user) => user === firstRow,
    ) &&
    isOffsetOnly(ir, rows, new Set(firstRow.results))
  );
}

/** The program ids on the axis of rows, at every query in the kernel. */
function programIdsOf(ir: KernelIR, firstRow: OpStatement): ReadonlySet<Value> {
  const programs = [...definitions(ir.body).values()].filter(isProgram);
  const program = programs.find(({ results: [id] }) => firstRow.operands.includes(id));
  const axis = program && axisOf(program);
  const sameAxis = programs.filter((each) => axisOf(each) === undefined || axisOf(each) === axis);
  return new Set(sameAxis.flatMap(({ results }) => results));
}

function hasOnlyBlockAccesses(ir: KernelIR, { queries, loops, stores, loads }: AttentionPattern): boolean {
  const blocks = new Set<Statement>([
    queries.statement,
    ...loads,
    ...loops.flatMap(({ keys, values }) => [keys.block.statement, values.block.statement]),
    ...stores.flatMap(({ block, statement }) => (block ? [statement] : [])),
  ]);
  let isOnlyBlocks = true;
  for (const body of bodiesOf(ir))
    walk(body, (statement) => {
      if (statement.kind === "op" && statement.op.effect !== "pure" && !blocks.has(statement)) isOnlyBlocks = false;
    });
  return isOnlyBlocks;
}

export function hasOnlyAllowedUses(
  block: Parameters<typeof walkUses>[0],
  isSubject: (value: Value) => boolean,
  isAllowed: (user: OpStatement, value: Value) => boolean,
): boolean {
  let isAllowedOnly = true;
  walkUses(block, (value, user) => {
    if (isSubject(value) && !(user?.kind === "op" && isAllowed(user, value))) isAllowedOnly = false;
  });
  return isAllowedOnly;
}

/** True if the op uses the value as the length of its result. */
export function isLength({ op, operands }: OpStatement, value: Value): boolean {
  const kinds = Object.values(op.operands);
  return operands.every((operand, i) => {
    if (operand === undefined || !valuesIn(operand).includes(value)) return true;
    return isList(operand) ? kinds[i]?.startsWith("shape") : op.facts.exclusiveUpperBound?.(operands) === value;
  });
}

/** True if the op counts the blocks of all rows. */
const isCount = ({ queries }: AttentionPattern, statement: OpStatement): boolean => {
  const size = queries.tensor.dims[axisIn(queries, queries.isSwapped ? 1 : 0)];
  return size !== undefined && isBlockCount(size, statement);
};

/** True if the op counts the blocks of a tensor's size. */
export function isBlockCount(size: TensorParam["dims"][number], { op, operands: [total] }: OpStatement): boolean {
  if (op.facts.integer !== "blocks" || total === undefined) return false;
  return total === size || (isLiteral(total) && isLiteral(size) && total.value === size.value);
}

/**
 * True if `starts`, the first indices of blocks, are used only for the index of each lane, as in `start + tl.arange(0,
 * BLOCK)`, and lanes along `dim` likewise.
 */
export function isOffsetOnly({ body }: KernelIR, dim: string, starts: ReadonlySet<Value>): boolean {
  const definitionsOf = definitions(body);
  const indexOf = (value: Value) => blockIndexOf(value, definitionsOf);
  const areLanes = (value: Value): boolean => {
    const index = indexOf(value);
    return index !== undefined && index.starts.length === 0 && extentDim(index.extent) === dim;
  };
  let isOnly = true;
  walkUses(body, (value, user) => {
    if (!starts.has(value) && !areLanes(value)) return;
    const index = user?.kind === "op" ? user.results.map(indexOf)[0] : undefined;
    const isOffset =
      index?.starts.some((start) => isValue(start) && starts.has(start)) && extentDim(index.extent) === dim;
    if (!isOffset) isOnly = false;
  });
  return isOnly;
}
