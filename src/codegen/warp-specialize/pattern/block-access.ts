/** Loads and stores of rectangular blocks of a tensor, which a GPU's copy engine (TMA) can move. */
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  type KernelIR,
  operandOf,
  type OpStatement,
  paramsOf,
  type Statement,
  type TensorParam,
  type Value,
} from "../../../ir/nodes.js";
import { type BlockIndex, blockIndexOf, extentDim, isScalar } from "./block-index.js";
import { notSpecializable } from "./not-specializable.js";

export interface BlockAccess {
  readonly tensor: TensorParam;
  /** The indices of axes of which the block has one each, such as batches and heads. */
  readonly lead: readonly Argument[];
  /** Which of the tensor's axes is the first of the block's two; the other is the last one. */
  readonly first: number;
  /** Where the block lies on both. */
  readonly axes: readonly BlockIndex[];
  /** Whether the tile has these axes the other way round. */
  readonly swapped: boolean;
  readonly statement: OpStatement;
}

/** One of each axis of the tensor: those of `lead`, with the block's own two in their places. */
export const onAxes = <T>(lead: readonly T[], first: number, [own, last]: readonly [T, T]): readonly T[] => [
  ...lead.slice(0, first),
  own,
  ...lead.slice(first),
  last,
];

/** Which axis of the tensor is an axis of the block. */
export const axisIn = ({ tensor, first }: BlockAccess, axis: number): number =>
  axis === 0 ? first : tensor.dims.length - 1;

/** Axes besides rows and columns, such as batch and head. */
const MOST_LEAD = 3;

/** @throws Unsuited where the tensor has more axes than the copy engine counts. */
export function checkRank({ lead, tensor, statement }: BlockAccess): void {
  if (lead.length > MOST_LEAD)
    notSpecializable(
      `${tensor.name} has ${lead.length + 2} axes; the copy engine takes ${MOST_LEAD + 2}`,
      statement.at,
    );
}

/** @throws Unsuited where blocks of a tensor differ in what its one descriptor says. */
export function checkAlike(blocks: readonly BlockAccess[]): void {
  for (const block of blocks) {
    const { tensor, first, axes } = blocks.find((each) => each.tensor === block.tensor)!;
    const isAlike = block.axes.every(({ extent }, i) => extentDim(extent) === extentDim(axes[i]!.extent));
    if (block.first !== first || !isAlike)
      notSpecializable(`it writes ${tensor.name} in blocks of different shapes`, block.statement.at);
  }
}

/** What says where the block lies. */
export const placesOf = ({ lead, axes }: BlockAccess): readonly Argument[] => [
  ...lead,
  ...axes.flatMap(({ starts }) => starts),
];

type Made = ReadonlyMap<Value, Statement>;

/**
 * The block that a load reads or a store writes, of a view or of a descriptor.
 *
 * @throws Unsuited where it is no block of two axes that the copy engine can move.
 */
export function blockAccess(statement: OpStatement, ir: KernelIR, made: Made): BlockAccess {
  const { op, at } = statement;
  const reach = op.proof.reaches;
  const address = operandOf(statement, reach?.address);
  if (!reach || reach.rows || !isValue(address)) notSpecializable("it accesses memory other than in blocks", at);
  const given = Object.entries(statement.options).flatMap(([name, value]) => (isNeedless(name, value) ? [] : [name]));
  if (given.includes("mask"))
    notSpecializable("the copy engine takes no mask but the view's own; leave out what says where the tensor ends", at);
  if (given.length > 0) notSpecializable(`the copy engine takes no ${given.join(" and no ")}`, at);
  const { kind } = address.type;
  if (kind !== "view" && kind !== "descriptor")
    return notSpecializable("it accesses memory by pointers; index the tensor with .at(rows, columns)", at);
  const block =
    kind === "view" ? ofView(statement, made.get(address), ir, made) : ofDescriptor(statement, address, ir, made);
  for (const start of [...block.lead, ...block.axes.flatMap(({ starts }) => starts)])
    if (isValue(start) && start.type.kind === "tile" && start.type.dtype !== "int32")
      notSpecializable("the copy engine counts in int32, and where its block lies is of another dtype", at);
  return block;
}

/** Hints of the cache, and what the copy engine brings anyway from beyond a tensor. */
const isNeedless = (option: string, value: Argument): boolean =>
  option === "evictionPolicy" ||
  option === "cacheModifier" ||
  (option === "other" && isLiteral(value) && Object.is(value.value, 0));

function ofView(statement: OpStatement, view: Statement | undefined, ir: KernelIR, made: Made): BlockAccess {
  const { at } = statement;
  if (view?.kind === "op" && view.op.lowering?.permutes) {
    const [inner] = view.operands;
    const block = ofView(statement, isValue(inner) ? made.get(inner) : undefined, ir, made);
    return { ...block, swapped: block.swapped !== (view.op.lowering.permutes(view.operands, 2)[0] === 1) };
  }
  if (view?.kind !== "op" || view.op.lowering?.view !== "grid") return notSpecializable("its view is no rectangle", at);
  const [of, indices] = view.operands;
  const { tensor, order } = tensorOf(of, ir, made);
  if (!tensor || !isList(indices ?? [])) return notSpecializable("its view is of no parameter", at);
  const given = indices as readonly Argument[];
  const places = order.map((place) => given[place]!);
  const spread = places.filter((index) => !isScalar(index));
  const axes = spread.map((index) => blockIndexOf(index, made));
  if (axes.length !== 2 || !isComplete(axes))
    return notSpecializable(
      "its lanes do not count up from a scalar on two axes, as pid * BLOCK + tl.arange(0, BLOCK) does",
      at,
    );
  const last = places.length - 1;
  if (isScalar(places[last]!))
    return notSpecializable(`its block has one index of the last axis of ${tensor.name}`, at);
  const first = places.indexOf(spread[0]!);
  return { tensor, lead: places.filter(isScalar), first, axes, swapped: order[first]! > order[last]!, statement };
}

function isComplete(axes: readonly (BlockIndex | undefined)[]): axes is readonly BlockIndex[] {
  return axes.every((axis) => axis !== undefined);
}

/** The parameter, with the place among the indices of each of its axes. */
function tensorOf(
  of: Argument | undefined,
  ir: KernelIR,
  made: Made,
): { readonly tensor?: TensorParam | undefined; readonly order: readonly number[] } {
  const statement = isValue(of) ? made.get(of) : undefined;
  if (statement?.kind === "op" && statement.op.lowering?.permutes) {
    const inner = tensorOf(statement.operands[0], ir, made);
    const order = statement.op.lowering.permutes(statement.operands, inner.order.length);
    return { ...inner, order: inner.order.map((axis) => order.indexOf(axis)) };
  }
  const tensor = paramsOf(ir, "tensor").find(({ value }) => value === of);
  return { tensor, order: tensor ? [...tensor.dims.keys()] : [] };
}

function ofDescriptor(statement: OpStatement, address: Value, ir: KernelIR, made: Made): BlockAccess {
  const { at, op } = statement;
  const offsets = operandOf(statement, op.proof.reaches?.offsets);
  const { tensor, block } = describedBy(address, ir, made);
  if (!tensor || !block) return notSpecializable("its descriptor is of no whole parameter", at);
  if (tensor.padding === "nan") return notSpecializable("its descriptor pads with NaN", at);
  if (!isList(offsets ?? [])) return notSpecializable("it has no offsets", at);
  const starts = offsets as readonly Argument[];
  if (starts.length !== 2) return notSpecializable("its block has other than two axes", at);
  const axes = starts.map((start, i): BlockIndex => ({ starts: isZero(start) ? [] : [start], extent: block[i]! }));
  return { tensor, lead: [], first: 0, axes, swapped: false, statement };
}

const isZero = (start: Argument): boolean => isLiteral(start) && start.value === 0;

function describedBy(address: Value, ir: KernelIR, made: Made) {
  const tensors = paramsOf(ir, "tensor");
  const own = tensors.find((param) => param.block && (param.value === address || param.pointer === address));
  if (own) return { tensor: own, block: own.block };
  const statement = made.get(address);
  if (statement?.kind !== "op" || !statement.op.lowering?.describes) return {};
  const [base, shape, , block] = statement.operands;
  if (shape !== undefined || Object.keys(statement.options).length > 0 || !isList(block ?? [])) return {};
  return { tensor: tensors.find((param) => param.value === base), block: block as readonly Argument[] };
}
