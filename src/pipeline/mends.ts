/** Changes of a kernel that explain what was refuted: axes of the grid or of a view that stand in the wrong order. */
import type { Certificate, Obligation } from "../compiled/compiled-kernel.js";
import type { Location } from "../diagnostics/diagnostic.js";
import {
  type Argument,
  type Block,
  isList,
  isLiteral,
  isSizeParam,
  type KernelIR,
  type OpStatement,
  type Statement,
  Value,
  isValue,
} from "../ir/nodes.js";
import { walk } from "../ir/walk.js";
import { opOf } from "../ops/define.js";
import { cdiv } from "../ops/arithmetic.js";
import type { Op } from "../ir/op.js";
import { lt } from "../ops/compare.js";
import { where } from "../ops/select.js";
import type { Type } from "../types/types.js";

/** A changed kernel, and what was changed. */
interface Change {
  readonly mend: string;
  readonly ir: KernelIR;
}

/** The certificate with a mend for what is refuted, if one change mends all of it. */
export function withMends(
  certificate: Certificate,
  ir: KernelIR,
  proveChanged: (ir: KernelIR) => Certificate,
): Certificate {
  const refuted = certificate.obligations.filter(isMisplaced);
  if (refuted.length === 0) return certificate;
  const mend =
    otherAxes(ir) ??
    changesOf(ir, refuted).find(({ ir: changed }) => isMended(certificate, proveChanged(changed)))?.mend;
  if (mend === undefined) return certificate;
  const obligations = certificate.obligations.map((each) =>
    each.verdict.kind === "refuted" ? { ...each, verdict: { ...each.verdict, mend } } : each,
  );
  return { ...certificate, obligations };
}

const isMisplaced = ({ property, verdict }: Obligation): boolean =>
  verdict.kind === "refuted" && (property === "bounds" || property === "claim" || property === "coverage");

/** True if nothing is refuted any more, and nothing that was proved is open. */
function isMended(before: Certificate, after: Certificate): boolean {
  const openCount = ({ obligations }: Certificate): number =>
    obligations.filter(({ verdict: { kind } }) => kind === "unknown").length;
  return after.obligations.every(({ verdict }) => verdict.kind !== "refuted") && openCount(after) <= openCount(before);
}

/** The fact that the body reads a program id on an axis that the grid lacks, or none on an axis that it has. */
function otherAxes({ body, functions, grid }: KernelIR): string | undefined {
  const count = grid.block.yields.length;
  const read = new Set<number>();
  for (const block of [body, ...functions.map((helper) => helper.body)])
    walk(block, (statement) => {
      if (statement.kind !== "op" || statement.op.name !== "programId") return;
      const [axis] = [...statement.operands, ...Object.values(statement.options)];
      if (isLiteral(axis)) read.add(Number(axis.value));
    });
  const axes = `the grid has ${count} ${count === 1 ? "axis" : "axes"}`;
  const missing = [...read].find((axis) => axis >= count);
  if (missing !== undefined)
    return `${axes}, so tl.programId(${missing}) is always 0: let grid return one size for each axis`;
  const unread = grid.block.yields.findIndex((size, axis) => !read.has(axis) && !isOne(size));
  if (unread < 0) return undefined;
  return `${axes}, and nothing reads tl.programId(${unread}): compute the indices of its axis from it`;
}

const isOne = (size: Argument): boolean => isLiteral(size) && size.value === 1;

/** Swapped indices of the views that are refuted, or a swapped grid. */
function changesOf(ir: KernelIR, refuted: readonly Obligation[]): readonly Change[] {
  const views = viewsAt(ir, refuted);
  const swappedViews = views.flatMap((view) => swapIndices(ir, view) ?? []);
  const { yields } = ir.grid.block;
  const pairs = [
    [0, 1],
    [0, 2],
    [1, 2],
  ].filter(([, last = 0]) => last < yields.length);
  const swappedGrids = pairs.map(([i = 0, j = 0]): Change => {
    const block = { ...ir.grid.block, yields: swap(yields, i, j) };
    return { mend: `swap sizes ${i} and ${j} of the grid, which mends it`, ir: { ...ir, grid: { ...ir.grid, block } } };
  });
  const others = [...changedGrids(ir), ...(views.length === 0 ? [...swappedStrides(ir), ...changedMasks(ir)] : [])];
  const isOnePlace = refuted.every(({ at }) => keyOf(at) === keyOf(refuted[0]?.at));
  const swapped = isOnePlace ? [...swappedViews, ...swappedGrids] : [...swappedGrids, ...swappedViews];
  return [...swapped, ...others];
}

/** The grid with tl.cdiv in place of floorDiv, or with the arguments of tl.cdiv swapped. */
function changedGrids(ir: KernelIR): readonly Change[] {
  const change = (mend: string, from: string): readonly Change[] => {
    let isChanged = false;
    const block = changeOps(ir.grid.block, (each) => {
      if (each.op.name !== from) return [each];
      isChanged = true;
      const operands = from === "cdiv" ? each.operands.toReversed() : each.operands;
      return [{ ...each, op: opOf(cdiv), operands }];
    });
    return isChanged ? [{ mend, ir: { ...ir, grid: { ...ir.grid, block } } }] : [];
  };
  return [
    ...change("write tl.cdiv in the grid in place of floorDiv, which mends it", "floorDiv"),
    ...change("swap the arguments of tl.cdiv in the grid, which mends it", "cdiv"),
  ];
}

/** The kernel with both strides of a matrix swapped in its own address arithmetic. */
const swappedStrides = (ir: KernelIR): readonly Change[] =>
  ir.params.flatMap((param): readonly Change[] => {
    const [first, second, ...others] = param.kind === "tensor" ? param.strides : [];
    if (!first || !second || others.length > 0) return [];
    const mend = `swap ${param.name}.stride(0) and ${param.name}.stride(1), which mends it`;
    const swapped = new Map([
      [first, second],
      [second, first],
    ]);
    return [{ mend, ir: replaceOperands(ir, (each) => (each && swapped.get(each)) ?? each) }];
  });

/** The kernel that compares an index with another size. */
function changedMasks(ir: KernelIR): readonly Change[] {
  const sizes = ir.params.filter(isSizeParam);
  return sizes.flatMap((from) =>
    sizes.flatMap((to): readonly Change[] => {
      if (from === to) return [];
      const changed = replaceOperands(ir, (each, { op }) =>
        each === from.value && COMPARISONS.has(op.name) ? to.value : each,
      );
      const mend = `compare the index with ${to.name} in place of ${from.name} in the mask, which mends it`;
      return [{ mend, ir: changed }];
    }),
  );
}

const COMPARISONS: ReadonlySet<string> = new Set(["lt", "le", "gt", "ge"]);

function replaceOperands(
  ir: KernelIR,
  replace: (operand: Argument | undefined, statement: OpStatement) => Argument | undefined,
): KernelIR {
  const change = (each: OpStatement): readonly Statement[] => [
    { ...each, operands: each.operands.map((operand) => replace(operand, each)) },
  ];
  return { ...ir, body: changeOps(ir.body, change) };
}

const keyOf = (at: Location | undefined): string => `${at?.file} ${at?.line}:${at?.column}`;

/** The views that the ops of these places access. */
export function viewsAt({ body }: KernelIR, at: readonly Pick<Obligation, "at">[]): readonly OpStatement[] {
  const places = new Set(at.map((each) => keyOf(each.at)));
  const views = new Map<Value, OpStatement>();
  const found = new Set<OpStatement>();
  walk(body, (statement) => {
    if (statement.kind !== "op") return;
    if (isList(statement.options["claimed"])) for (const result of statement.results) views.set(result, statement);
    if (!places.has(keyOf(statement.location))) return;
    for (const operand of statement.operands) {
      const view = operand && "kind" in operand && operand.kind === "value" ? views.get(operand) : undefined;
      if (view) found.add(view);
    }
  });
  return [...found];
}

/** Two indices the other way round, with what the author claims of them. More tiles would give another shape. */
function swapIndices(ir: KernelIR, view: OpStatement): Change | undefined {
  const [tensor, indices] = view.operands;
  const { claimed } = view.options;
  const name = ir.params.find((param) => param.value === tensor)?.name;
  if (!isList(indices) || indices.length !== 2 || name === undefined) return undefined;
  const swapped = swap(indices, 0, 1);
  const options = isList(claimed) ? { ...view.options, claimed: swap(claimed, 0, 1) } : view.options;
  const changed: OpStatement = { ...view, operands: [tensor, swapped], options };
  return {
    mend: `swap the indices of ${name}.at(…), which mends it`,
    ir: { ...ir, body: changeOps(ir.body, (each) => [each === view ? changed : each]) },
  };
}

function swap<Item>(items: readonly Item[], i: number, j: number): readonly Item[] {
  const order = items.map((_, index) => index);
  [order[i], order[j]] = [j, i];
  return order.map((index) => items[index] as Item);
}

/** The block with other statements in place of its ops, also in the blocks inside it. */
export function changeOps(block: Block, change: (statement: OpStatement) => readonly Statement[]): Block {
  return { ...block, statements: block.statements.flatMap((statement) => changeStatement(statement, change)) };
}

function changeStatement(
  statement: Statement,
  change: (statement: OpStatement) => readonly Statement[],
): readonly Statement[] {
  const inside = (block: Block): Block => changeOps(block, change);
  switch (statement.kind) {
    case "for":
      return [{ ...statement, body: inside(statement.body) }];
    case "while":
      return [{ ...statement, condition: inside(statement.condition), body: inside(statement.body) }];
    case "if":
      return [{ ...statement, then: inside(statement.then), otherwise: inside(statement.otherwise) }];
    case "op":
      return change(statement);
    case "let":
    case "read":
    case "write":
    case "exit":
      return [statement];
    default:
      return statement satisfies never;
  }
}

// Tries `tl.where` around the operand of a fold: the lanes that its load masks then have a neutral value.

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
