/** Checks whether streamed products may use another number of rows per program than the author's configs. */
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  paramsOf,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { argumentsOf, blocksOf, definitions, hostBlocksOf, valuesIn } from "../../../ir/walk.js";
import { shapeOf } from "./attention-layouts.js";
import { backwardSlice } from "./backward-slice.js";
import { axisIn } from "./block-access.js";
import { type BlockIndex, blockIndexOf, extentDim } from "./block-index.js";
import { hasOnlyAllowedUses, isBlockCount } from "./row-count-independence.js";
import type { StreamedPattern } from "./streamed-pattern.js";
import { axisOf, isProgram } from "./tile-schedule.js";

/** One arm of the branches on a flag. */
export interface ConstexprArm {
  readonly condition: Value;
  readonly isThen: boolean;
}

/**
 * The branches of constexprs in which the rows' constexpr is only the number of rows of a program: a block length, and a
 * factor of the program's first row, from which only the index of each row is computed. Undefined if there are none.
 *
 * @param accesses The lowered loads and stores that consumers perform, each of which must have a mask for its rows.
 * @param body The lowered statements outside loops.
 */
export function rowCountBranches(
  ir: KernelIR,
  pattern: StreamedPattern,
  accesses: readonly OpStatement[],
  body: readonly Statement[],
): readonly ConstexprArm[] | undefined {
  const [rows] = pattern.shape;
  const param = paramsOf(ir, "constexpr").find(({ name }) => name === rows);
  if (typeof rows !== "string" || param?.from !== "config") return undefined;
  const isRowCount = (value: Value) =>
    value === param.value || (value.type.kind === "constexpr" && value.type.text === rows);
  if (!isCountedInGridOnly(ir, pattern, isRowCount)) return undefined;
  if (!accesses.every((access) => isMaskedAtRows(access, rows, body))) return undefined;
  const flags = paramsOf(ir, "constexpr").filter((each) => each.from === "argument" && each.of === "bool");
  const candidates: readonly (readonly ConstexprArm[])[] = [
    [],
    ...flags.flatMap(({ value: condition }) => [false, true].map((isThen) => [{ condition, isThen }])),
  ];
  const axis = rowAxis(ir, pattern);
  return axis === undefined
    ? undefined
    : candidates.find((branches) => new RowUses(ir, isRowCount, branches, axis).areOffsets());
}

/** The grid axis whose program ids determine the first row. */
function rowAxis({ body }: KernelIR, { residents: [block] }: StreamedPattern): number | undefined {
  const axes = backwardSlice(block?.axes[0].starts ?? [], body.statements)
    .filter(isProgram)
    .map(axisOf);
  const [axis] = axes;
  return axes.every((each) => each === axis) ? axis : undefined;
}

/** True if hosts use the number of rows only to count the blocks of the grid. */
function isCountedInGridOnly(
  ir: KernelIR,
  { residents: [block] }: StreamedPattern,
  isRowCount: (value: Value) => boolean,
): boolean {
  const size = block?.tensor.dims[axisIn(block, 0)];
  return hostBlocksOf(ir).every(({ block: host }) =>
    hasOnlyAllowedUses(
      host,
      isRowCount,
      (user) => host === ir.grid.block && size !== undefined && isBlockCount(size, user),
    ),
  );
}

/** True if an access has a mask that depends on the index of its rows, or no rows. */
function isMaskedAtRows(
  { operands, results, options }: OpStatement,
  rows: string,
  body: readonly Statement[],
): boolean {
  const tiles = [...operands, ...results].filter((each): each is Value => each !== undefined && isValue(each));
  if (!tiles.some((value) => shapeOf(value).includes(rows))) return true;
  const { mask } = options;
  return (
    mask !== undefined &&
    backwardSlice([mask], body).some(
      (each) => each.kind === "op" && extentDim(each.op.facts.exclusiveUpperBound?.(each.operands) ?? NONE) === rows,
    )
  );
}

const NONE = { kind: "literal", value: 0 } as const;

/** The uses of the number of rows and of program ids, in branches of constexprs. */
class RowUses {
  readonly #definitions: ReadonlyMap<Value, Statement>;
  readonly #statements: readonly Statement[];
  /** Values that depend on the grid alone, the first row, and the indices of rows from 0. */
  readonly #ids = new Set<Value>();
  readonly #first = new Set<Value>();
  readonly #lanes = new Set<Value>();

  constructor(
    readonly ir: KernelIR,
    readonly isRowCount: (value: Value) => boolean,
    readonly branches: readonly ConstexprArm[],
    /** The grid axis of the rows. */
    readonly axis: number,
  ) {
    this.#definitions = definitions(ir.body);
    this.#statements = this.#executed(ir.body.statements);
  }

  /** True if they only determine the index of each row. */
  areOffsets(): boolean {
    return this.#statements.every((statement) => this.#isAllowed(statement));
  }

  #branchOf(statement: Statement): ConstexprArm | undefined {
    return this.branches.find(({ condition }) => statement.kind === "if" && statement.condition === condition);
  }

  /** The statements of the branches that are taken, in program order. */
  #executed(statements: readonly Statement[]): readonly Statement[] {
    return statements.flatMap((statement) => {
      const branch = this.#branchOf(statement);
      const blocks = blocksOf(statement);
      const executed = branch ? blocks.slice(branch.isThen ? 0 : 1, branch.isThen ? 1 : 2) : blocks;
      return [statement, ...executed.flatMap((block) => this.#executed(block.statements))];
    });
  }

  #isAllowed(statement: Statement): boolean {
    const used = this.#argumentsOf(statement).flatMap(valuesIn);
    const isScalar = (value: Value) => this.#ids.has(value) || this.#first.has(value) || this.isRowCount(value);
    if (statement.kind === "op" && this.#defines(statement)) return true;
    return !used.some((value) => isScalar(value) || this.#lanes.has(value));
  }

  /** Arguments, and the results of a branch that is taken. */
  #argumentsOf(statement: Statement): readonly Argument[] {
    const yields = blocksOf(statement).flatMap((block, i) => {
      const branch = this.#branchOf(statement);
      return !branch || (i === 0) === branch.isThen ? block.yields : [];
    });
    return [...argumentsOf(statement), ...yields];
  }

  /** True for an op that computes an id, the first row, or the index of each row. */
  #defines(statement: OpStatement): boolean {
    const { op, operands, results } = statement;
    const presentOperands = operands.filter((each) => each !== undefined);
    if (op.facts.queries !== undefined)
      return axisOf(statement) === this.axis ? this.#record(this.#ids, results, true) : axisOf(statement) !== undefined;
    const areIds = presentOperands.every((each) => isLiteral(each) || (isValue(each) && this.#ids.has(each)));
    if (op.effect === "pure" && areIds && presentOperands.some(isValue)) return this.#record(this.#ids, results, true);
    const [x, y] = presentOperands;
    const isProductWith = (id: Argument | undefined, count: Argument | undefined) =>
      isValue(id) && isValue(count) && this.#ids.has(id) && this.isRowCount(count);
    if (op.facts.integer === "product" && (isProductWith(x, y) || isProductWith(y, x)))
      return this.#record(this.#first, results, true);
    const values = presentOperands.flatMap(valuesIn);
    if (!values.some((value) => this.isRowCount(value) || this.#lanes.has(value) || this.#first.has(value)))
      return false;
    if (this.#isLength(statement)) {
      const isRange = op.facts.exclusiveUpperBound?.(operands) !== undefined;
      return isRange ? this.#record(this.#lanes, results, true) : true;
    }
    const index = results.length === 1 ? blockIndexOf(results[0], this.#definitions) : undefined;
    return index !== undefined && !op.facts.claimsInBounds && this.#isRowIndex(index);
  }

  #record(into: Set<Value>, values: readonly Value[], isAllowed: boolean): boolean {
    for (const value of values) into.add(value);
    return isAllowed;
  }

  #isRowIndex({ starts, extent, wraps }: BlockIndex): boolean {
    const [start, extra] = starts;
    const isFirst = isValue(start) && this.#first.has(start);
    return isFirst && !extra && wraps === undefined && isValue(extent) && this.isRowCount(extent);
  }

  /** True if the op uses the number of rows only as a length of its result. */
  #isLength({ op, operands }: OpStatement): boolean {
    const kinds = Object.values(op.operands);
    return (
      operands.every((operand, i) => {
        if (operand === undefined || !valuesIn(operand).some((value) => this.isRowCount(value))) return true;
        if (isList(operand)) return kinds[i]?.startsWith("shape") ?? false;
        return op.facts.exclusiveUpperBound?.(operands) === operand;
      }) && !operands.some((each) => isValue(each) && (this.#lanes.has(each) || this.#first.has(each)))
    );
  }
}
