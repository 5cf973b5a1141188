/** Whether a specialized kernel may give its programs another number of rows than any of the author's configs. */
import {
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  type OpStatement,
  type Statement,
  type Value,
} from "../../../ir/nodes.js";
import { bodiesOf, definitions, hostBlocksOf, valuesIn, walk, walkUses } from "../../../ir/walk.js";
import type { AttentionPattern } from "./attention-pattern.js";
import { axisIn } from "./block-access.js";
import { axisOf, isProgram } from "./tile-schedule.js";
import { backwardSlice } from "./backward-slice.js";
import { isOffsetOnly } from "./offset-only-uses.js";
import { isLoadIndependentOf } from "./register-loads.js";

/**
 * Whether the constexpr says how many rows a program has, and nothing else: it is the length of blocks, a program's first row
 * is its number times the constexpr, and the grid has a program for each such block. Memory must be accessed in blocks
 * alone, which end where the tensor does, whatever the author claims of sizes.
 */
export function isRowCountIndependent(ir: KernelIR, form: AttentionPattern): boolean {
  const [rows] = form.shape;
  const param = ir.params.find(({ name }) => name === rows);
  if (param?.kind !== "constexpr" || param.from !== "config") return false;
  const isIt = (value: Value) => value === param.value || (value.type.kind === "constexpr" && value.type.text === rows);
  const first = firstRow(ir, form, isIt);
  return (
    typeof rows === "string" &&
    first !== undefined &&
    !boundsFollow(ir, form, first) &&
    accessesBlocksAlone(ir, form) &&
    saysWhere(ir, form, rows, first) &&
    bodiesOf(ir).every((body) => hasUses(body, isIt, (by, value) => by === first || isLength(by, value))) &&
    hostBlocksOf(ir).every(({ block }) => hasUses(block, isIt, (by) => block === ir.grid.block && isCount(form, by)))
  );
}

/** What makes a program's first row, of its number and the constexpr. */
function firstRow(
  ir: KernelIR,
  { queries }: AttentionPattern,
  isIt: (value: Value) => boolean,
): OpStatement | undefined {
  const { starts } = queries.axes[0]!;
  const [start] = starts;
  if (starts.length !== 1 || !isValue(start!)) return undefined;
  const made = definitions(ir.body);
  const statement = made.get(start);
  if (statement?.kind !== "op" || statement.op.facts.integer !== "product") return undefined;
  const isNumber = (value: Value) => {
    const by = made.get(value);
    return by !== undefined && isProgram(by);
  };
  const factors = statement.operands.flatMap((each) => (each && isValue(each) ? [each] : []));
  return factors.some(isIt) && factors.some(isNumber) ? statement : undefined;
}

/** A loop that ends at a row, by blocks of keys, may need that rows and keys are multiples of each other. */
const boundsFollow = (ir: KernelIR, { loops }: AttentionPattern, first: OpStatement): boolean =>
  backwardSlice(
    loops.flatMap(({ turns: { start, end } }) => [start, end]),
    ir.body.statements,
  ).includes(first);

/** Whether the program's number is taken for its rows' places alone. */
function saysWhere(ir: KernelIR, { loads }: AttentionPattern, rows: string, first: OpStatement): boolean {
  const numbers = numbersOf(ir, first);
  return (
    loads.every((each) => isLoadIndependentOf(each, ir, rows, numbers)) &&
    hasUses(
      ir.body,
      (value) => numbers.has(value),
      (by) => by === first,
    ) &&
    isOffsetOnly(ir, rows, new Set(first.results))
  );
}

/** The program's number on the axis of rows, wherever the kernel asks for it. */
function numbersOf(ir: KernelIR, first: OpStatement): ReadonlySet<Value> {
  const programs = [...definitions(ir.body).values()].filter(isProgram);
  const own = programs.find(({ results: [number] }) => first.operands.includes(number));
  const others = programs.filter((each) => axisOf(each) === undefined || axisOf(each) === axisOf(own!));
  return new Set(others.flatMap(({ results }) => results));
}

function accessesBlocksAlone(ir: KernelIR, { queries, loops, stores, loads }: AttentionPattern): boolean {
  const blocks = new Set<Statement>([
    queries.statement,
    ...loads,
    ...loops.flatMap(({ keys, values }) => [keys.block.statement, values.block.statement]),
    ...stores.flatMap(({ block, statement }) => (block ? [statement] : [])),
  ]);
  let isSo = true;
  for (const body of bodiesOf(ir))
    walk(body, (statement) => {
      if (statement.kind === "op" && statement.op.effect !== "pure" && !blocks.has(statement)) isSo = false;
    });
  return isSo;
}

function hasUses(
  block: Parameters<typeof walkUses>[0],
  isIt: (value: Value) => boolean,
  isAllowed: (by: OpStatement, value: Value) => boolean,
): boolean {
  let isSo = true;
  walkUses(block, (value, by) => {
    if (isIt(value) && !(by?.kind === "op" && isAllowed(by, value))) isSo = false;
  });
  return isSo;
}

/** Whether the op uses the value as the length of what it makes. */
function isLength({ op, operands }: OpStatement, value: Value): boolean {
  const kinds = Object.values(op.operands);
  return operands.every((operand, i) => {
    if (operand === undefined || !valuesIn(operand).includes(value)) return true;
    return isList(operand) ? kinds[i]!.startsWith("shape") : op.facts.exclusiveUpperBound?.(operands) === value;
  });
}

/** Whether the op counts the blocks of all rows. */
function isCount({ queries }: AttentionPattern, { op, operands }: OpStatement): boolean {
  const dim = queries.tensor.dims[axisIn(queries, queries.swapped ? 1 : 0)]!;
  const [all] = operands;
  if (op.facts.integer !== "blocks" || all === undefined) return false;
  return all === dim || (isLiteral(all) && isLiteral(dim) && all.value === dim.value);
}
