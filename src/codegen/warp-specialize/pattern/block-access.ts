/** Loads and stores of rectangular blocks of a tensor, as TMA can copy them. */
import {
  type Argument,
  isList,
  isLiteral,
  isZeroLiteral,
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
  /** Indices of the axes along which the block has length 1, such as batch and head. */
  readonly lead: readonly Argument[];
  /** The tensor axis that is the first of the block's two axes. The second one is the tensor's last axis. */
  readonly firstAxis: number;
  /** The index along each of the block's two axes. */
  readonly axes: readonly [BlockIndex, BlockIndex];
  /** True if the tile has the two axes in reverse order. */
  readonly isSwapped: boolean;
  readonly statement: OpStatement;
}

/** One element per tensor axis: those of `lead`, with the two of the block at their positions. */
export const perTensorAxis = <T>(
  lead: readonly T[],
  firstAxis: number,
  [first, last]: readonly [T, T],
): readonly T[] => [...lead.slice(0, firstAxis), first, ...lead.slice(firstAxis), last];

/** The tensor axis of an axis of the block. */
export const axisIn = ({ tensor, firstAxis }: BlockAccess, axis: number): number =>
  axis === 0 ? firstAxis : tensor.dims.length - 1;

/** TMA's limit of five axes, minus rows and columns. */
const MAX_LEAD_AXES = 3;

/** @throws {@link NotSpecializable} if the tensor has more axes than TMA supports. */
export function checkRank({ lead, tensor, statement }: BlockAccess): void {
  if (lead.length > MAX_LEAD_AXES)
    notSpecializable(
      `${tensor.name} has ${lead.length + 2} axes; the copy engine takes ${MAX_LEAD_AXES + 2}`,
      statement.location,
    );
}

/** @throws {@link NotSpecializable} if blocks of a tensor need different descriptors. */
export function checkSameShape(blocks: readonly BlockAccess[]): void {
  const firstBlocks = new Map<TensorParam, BlockAccess>();
  for (const block of blocks) {
    const { tensor } = block;
    const first = firstBlocks.get(tensor) ?? block;
    firstBlocks.set(tensor, first);
    if (block.firstAxis !== first.firstAxis || !hasSameExtent(block, first, 0) || !hasSameExtent(block, first, 1))
      notSpecializable(`it writes ${tensor.name} in blocks of different shapes`, block.statement.location);
  }
}

const hasSameExtent = (block: BlockAccess, other: BlockAccess, axis: 0 | 1): boolean =>
  extentDim(block.axes[axis].extent) === extentDim(other.axes[axis].extent);

/** The arguments that determine the block's offsets. */
export const offsetsOf = ({ lead, axes }: BlockAccess): readonly Argument[] => [
  ...lead,
  ...axes.flatMap(({ starts }) => starts),
];

type Definitions = ReadonlyMap<Value, Statement>;

/**
 * The block that a load reads or a store writes, through a view or a descriptor.
 * @throws {@link NotSpecializable} if it is not a block of two axes that TMA can copy.
 */
export function blockAccess(statement: OpStatement, ir: KernelIR, definitionsOf: Definitions): BlockAccess {
  const { op, location: at } = statement;
  const access = op.proof.memoryOperands;
  const address = operandOf(statement, access?.address);
  if (!access || access.rows || !isValue(address)) notSpecializable("it accesses memory other than in blocks", at);
  const unsupported = Object.entries(statement.options).flatMap(([name, value]) =>
    isRedundant(name, value) ? [] : [name],
  );
  if (unsupported.includes("mask"))
    notSpecializable("the copy engine takes no mask but the view's own; omit the bounds checks", at);
  if (unsupported.length > 0) notSpecializable(`the copy engine takes no ${unsupported.join(" and no ")}`, at);
  const { kind } = address.type;
  if (kind !== "view" && kind !== "descriptor")
    return notSpecializable("it accesses memory by pointers; index the tensor with .at(rows, columns)", at);
  const block =
    kind === "view"
      ? viewBlock(statement, definitionsOf.get(address), ir, definitionsOf)
      : descriptorBlock(statement, address, ir, definitionsOf);
  for (const start of offsetsOf(block))
    if (!hasInt32(start))
      notSpecializable("the copy engine counts in int32, and where its block lies is of another dtype", at);
  return block;
}

/** True for cache hints, and for `other: 0`, the value that TMA fills in beyond the tensor's bounds. */
export const isRedundant = (option: string, value: Argument): boolean =>
  option === "evictionPolicy" ||
  option === "cacheModifier" ||
  (option === "other" && isLiteral(value) && Object.is(value.value, 0));

function viewBlock(
  statement: OpStatement,
  view: Statement | undefined,
  ir: KernelIR,
  definitionsOf: Definitions,
): BlockAccess {
  const { location: at } = statement;
  if (view?.kind === "op" && view.op.lowering?.permutes) {
    const [inner] = view.operands;
    const block = viewBlock(statement, isValue(inner) ? definitionsOf.get(inner) : undefined, ir, definitionsOf);
    return { ...block, isSwapped: block.isSwapped !== (view.op.lowering.permutes(view.operands, 2)[0] === 1) };
  }
  if (view?.kind !== "op" || view.op.lowering?.view !== "grid") return notSpecializable("its view is no rectangle", at);
  const [base, indices] = view.operands;
  const { tensor, order } = tensorOf(base, ir, definitionsOf);
  if (!tensor || !isList(indices)) return notSpecializable("its view is of no parameter", at);
  const tensorIndices = indices
    .map((index, position) => ({ index, position, axis: order.indexOf(position) }))
    .toSorted((x, y) => x.axis - y.axis);
  const [first, last, extra] = tensorIndices.filter(({ index }) => !isScalar(index));
  const [firstIndex, lastIndex] = [first, last].map((each) => blockIndexOf(each?.index, definitionsOf));
  if (!first || !last || extra || !firstIndex || !lastIndex)
    return notSpecializable(
      "its lanes do not count up from a scalar on two axes, as pid * BLOCK + tl.arange(0, BLOCK) does",
      at,
    );
  if (last !== tensorIndices.at(-1))
    return notSpecializable(`its block has one index of the last axis of ${tensor.name}`, at);
  return {
    tensor,
    lead: tensorIndices.flatMap(({ index }) => (isScalar(index) ? [index] : [])),
    firstAxis: first.axis,
    axes: [firstIndex, lastIndex],
    isSwapped: first.position > last.position,
    statement,
  };
}

/** Numbers that lie side by side along a tensor's last axis, one for each lane. */
export interface RowAccess {
  readonly tensor: TensorParam;
  /** Indices of the other axes. */
  readonly lead: readonly Argument[];
  readonly index: BlockIndex;
  readonly statement: OpStatement;
}

/** The numbers that a load reads through a view. Undefined if TMA cannot copy them. */
export function rowAccess(statement: OpStatement, ir: KernelIR, definitionsOf: Definitions): RowAccess | undefined {
  const [address] = statement.operands;
  const view = isValue(address) ? definitionsOf.get(address) : undefined;
  if (view?.kind !== "op" || view.op.lowering?.view !== "grid") return undefined;
  const [base, indices] = view.operands;
  const { tensor, order } = tensorOf(base, ir, definitionsOf);
  if (!tensor || tensor.block || !isList(indices)) return undefined;
  const lead = order.slice(0, -1).flatMap((position) => indices[position] ?? []);
  const index = blockIndexOf(indices[order.at(-1) ?? 0], definitionsOf);
  const starts = [...lead, ...(index?.starts ?? [])];
  const isSupported =
    lead.length > 0 &&
    lead.length <= MAX_LEAD_AXES + 1 &&
    starts.every((each) => isScalar(each) && hasInt32(each)) &&
    Object.entries(statement.options).every(([name, value]) => isRedundant(name, value));
  return isSupported && index ? { tensor, lead, index, statement } : undefined;
}

const hasInt32 = (start: Argument): boolean =>
  !isValue(start) || start.type.kind !== "tile" || start.type.dtype === "int32";

/** The parameter, and for each of its axes the position among the indices. */
function tensorOf(
  argument: Argument | undefined,
  ir: KernelIR,
  definitionsOf: Definitions,
): { readonly tensor?: TensorParam | undefined; readonly order: readonly number[] } {
  const statement = isValue(argument) ? definitionsOf.get(argument) : undefined;
  if (statement?.kind === "op" && statement.op.lowering?.permutes) {
    const inner = tensorOf(statement.operands[0], ir, definitionsOf);
    const order = statement.op.lowering.permutes(statement.operands, inner.order.length);
    return { ...inner, order: inner.order.map((axis) => order.indexOf(axis)) };
  }
  const tensor = paramsOf(ir, "tensor").find(({ value }) => value === argument);
  return { tensor, order: tensor ? [...tensor.dims.keys()] : [] };
}

function descriptorBlock(
  statement: OpStatement,
  address: Value,
  ir: KernelIR,
  definitionsOf: Definitions,
): BlockAccess {
  const { location: at, op } = statement;
  const offsets = operandOf(statement, op.proof.memoryOperands?.offsets);
  const { tensor, block } = descriptorTarget(address, ir, definitionsOf);
  if (!tensor || !block) return notSpecializable("its descriptor is of no whole parameter", at);
  if (tensor.padding === "nan") return notSpecializable("its descriptor pads with NaN", at);
  if (!isList(offsets)) return notSpecializable("it has no offsets", at);
  const isUnit = (extent: Argument) => isLiteral(extent) && extent.value === 1;
  const [lead, unitExtents] = [offsets.slice(0, -2), block.slice(0, -2)];
  const [rowStart, columnStart] = offsets.slice(-2);
  const [rowExtent, columnExtent] = block.slice(-2);
  if (!rowStart || !columnStart || !rowExtent || !columnExtent || !unitExtents.every(isUnit))
    return notSpecializable("its block has other than two axes", at);
  const indexFrom = (start: Argument, extent: Argument): BlockIndex => ({
    starts: isZeroLiteral(start) ? [] : [start],
    extent,
  });
  const axes = [indexFrom(rowStart, rowExtent), indexFrom(columnStart, columnExtent)] as const;
  return { tensor, lead, firstAxis: lead.length, axes, isSwapped: false, statement };
}

function descriptorTarget(address: Value, ir: KernelIR, definitionsOf: Definitions) {
  const tensors = paramsOf(ir, "tensor");
  const descriptorParam = tensors.find(
    (param) => param.block && (param.value === address || param.pointer === address),
  );
  if (descriptorParam) return { tensor: descriptorParam, block: descriptorParam.block };
  const statement = definitionsOf.get(address);
  if (statement?.kind !== "op" || !statement.op.lowering?.describes) return {};
  const [base, shape, , block] = statement.operands;
  if (shape !== undefined || Object.keys(statement.options).length > 0 || !isList(block)) return {};
  return { tensor: tensors.find((param) => param.value === base), block };
}
