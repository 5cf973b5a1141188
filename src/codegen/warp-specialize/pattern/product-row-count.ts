/** Checks whether a product may have another number of rows per program than the author's configs. */
import { isValue, type KernelIR, type OpStatement, type Statement, type Value } from "../../../ir/nodes.js";
import { argumentsOf, bodiesOf, definitions, hostBlocksOf, valuesIn, walk } from "../../../ir/walk.js";
import type { Dim } from "../../../types/shape.js";
import { valuesUsedBy } from "./backward-slice.js";
import { axisIn } from "./block-access.js";
import type { BlockIndex } from "./block-index.js";
import type { GemmPattern } from "./gemm-pattern.js";
import { isLoad, isLoadIndependentOf } from "./register-loads.js";
import { hasOnlyAllowedUses, isBlockCount, isLength, isOffsetOnly } from "./row-count-independence.js";
import { isProgram } from "./tile-schedule.js";

/**
 * True if the constexpr of the rows is only a block length, the factor of a program's first row, and the divisor that
 * counts the blocks of rows. A program's tile may follow from that count in any way, because a kernel with the author's
 * length computes the same tiles for fewer rows. Nothing else may depend on the program or on the count.
 */
export function isProductRowCountIndependent(ir: KernelIR, pattern: GemmPattern): boolean {
  const [rows, columns] = pattern.shape;
  const param = ir.params.find(({ name }) => name === rows);
  if (pattern.tileLoop || typeof rows !== "string" || param?.kind !== "constexpr" || param.from !== "config")
    return false;
  const definitionsOf = definitions(ir.body);
  const [rowOperand, columnOperand] = pattern.operands;
  const row = tileIndexOf(rowOperand.block.axes[rowOperand.isSwapped ? 1 : 0], rows, definitionsOf);
  const column = tileIndexOf(columnOperand.block.axes[columnOperand.isSwapped ? 0 : 1], columns, definitionsOf);
  if (!row || !column) return false;
  const size = rowOperand.block.tensor.dims[axisIn(rowOperand.block, rowOperand.isSwapped ? 1 : 0)];
  const isRowCount = (value: Value) => value === param.value || isConstexpr(value, rows);
  const isCount = (user: OpStatement) => size !== undefined && isBlockCount(size, user);
  const isAllowed = (user: OpStatement, value: Value) => user === row.start || isCount(user) || isLength(user, value);
  return (
    bodiesOf(ir).every((body) => hasOnlyAllowedUses(body, isRowCount, isAllowed)) &&
    hostBlocksOf(ir).every(({ block }) =>
      hasOnlyAllowedUses(block, isRowCount, (user) => block === ir.grid.block && isCount(user)),
    ) &&
    hasOnlyAllowedUses(
      ir.body,
      (value) => value === row.index,
      (user) => user === row.start,
    ) &&
    isOffsetOnly(ir, rows, new Set(row.start.results)) &&
    isPlacedByTile(ir, [row.index, column.index], isCount) &&
    isCountedByBlocks([row.index, column.index], size, definitionsOf, isCount) &&
    hasOnlyIndependentLoads(ir, pattern, rows, row.start)
  );
}

const isConstexpr = ({ type }: Value, dim: Dim): boolean => type.kind === "constexpr" && type.text === dim;

/** The statement that multiplies a tile's index by the length of its blocks, and the index. */
function tileIndexOf(
  { starts: [start, extra] }: BlockIndex,
  length: Dim,
  definitionsOf: ReadonlyMap<Value, Statement>,
): { readonly start: OpStatement; readonly index: Value } | undefined {
  const statement = isValue(start) ? definitionsOf.get(start) : undefined;
  if (extra !== undefined || statement?.kind !== "op" || statement.op.facts.integer !== "product") return undefined;
  const factors = statement.operands.filter((each): each is Value => each !== undefined && isValue(each));
  const [index, extraIndex] = factors.filter((each) => !isConstexpr(each, length));
  return index && !extraIndex && factors.length === 2 ? { start: statement, index } : undefined;
}

/** True if accesses and branches depend on the program, and on the number of blocks, only by the tile's indices. */
function isPlacedByTile(
  { body }: KernelIR,
  indices: readonly Value[],
  isCount: (statement: OpStatement) => boolean,
): boolean {
  const definitionsOf = definitions(body);
  const roots: Value[] = [];
  walk(body, (statement) => {
    if (statement.kind !== "op" || statement.op.effect !== "pure")
      roots.push(...argumentsOf(statement).flatMap(valuesIn));
  });
  const reached = statementsBehind(roots, definitionsOf, indices);
  return reached.every((each) => !(each.kind === "op" && isCount(each)) && !isProgram(each));
}

/** True if the tile's indices depend on the number of rows only by the number of their blocks. */
function isCountedByBlocks(
  indices: readonly Value[],
  size: unknown,
  definitionsOf: ReadonlyMap<Value, Statement>,
  isCount: (statement: OpStatement) => boolean,
): boolean {
  return statementsBehind(indices, definitionsOf, []).every(
    (each) => (each.kind === "op" && isCount(each)) || !valuesUsedBy(each).some((value) => value === size),
  );
}

function statementsBehind(
  roots: readonly Value[],
  definitionsOf: ReadonlyMap<Value, Statement>,
  ends: readonly Value[],
): readonly Statement[] {
  const visited = new Set<Statement>();
  // The list grows during the iteration.
  const worklist = [...roots];
  for (const value of worklist) {
    const statement = definitionsOf.get(value);
    if (!statement || visited.has(statement) || ends.includes(value)) continue;
    visited.add(statement);
    worklist.push(...valuesUsedBy(statement));
  }
  return [...visited];
}

/** True if all accesses are blocks that TMA copies, or loads of what no row determines. */
function hasOnlyIndependentLoads(
  ir: KernelIR,
  { operands, rowScales, stores }: GemmPattern,
  rows: Dim,
  start: OpStatement,
): boolean {
  const copied = new Set<Statement>([
    ...operands.map(({ block }) => block.statement),
    ...stores.map((each) => each.statement),
  ]);
  if (rowScales) copied.add(rowScales.statement);
  let isIndependent = true;
  walk(ir.body, (statement) => {
    if (statement.kind !== "op" || statement.op.effect === "pure" || copied.has(statement)) return;
    if (!isLoad(statement) || !isLoadIndependentOf(statement, ir, rows, new Set(start.results))) isIndependent = false;
  });
  return isIndependent;
}
