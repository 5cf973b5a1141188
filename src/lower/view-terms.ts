/** What an index adds to the address of a view, written with the ops themselves. */
import type { Location } from "../diagnostics/diagnostic.js";
import { dtypes, dtypeTable, isInt, members } from "../types/dtype.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  isList,
  isLiteral,
  isValue,
  type Statement,
  type TensorParam,
  type Value,
} from "../ir/nodes.js";
import { add, mul, sub } from "../ops/arithmetic.js";
import { to } from "../ops/cast.js";
import { opOf } from "../ops/define.js";
import { and, ge, lt } from "../ops/compare.js";
import { expandDims } from "../ops/axes.js";

/** The ops without their types: here shapes and dtypes are the author's, known only to the rules. */
type AnyOp = (...args: unknown[]) => unknown;
const untyped = (op: unknown) => op as AnyOp;
export const [ADD, SUB, MUL, AND] = [untyped(add), untyped(sub), untyped(mul), untyped(and)];
export const [GE, LT] = [untyped(ge), untyped(lt)];
const [EXPAND, TO] = [untyped(expandDims), untyped(to)];

/** A view that waits for the load or store which uses it. */
export interface View {
  readonly tensor: TensorParam;
  readonly indices: readonly Argument[];
  readonly claimed: readonly boolean[];
  /** Which axis of the result each index spans; undefined for scalars, and for gathers, whose indices broadcast. */
  readonly axes: readonly (number | undefined)[];
  readonly rank: number;
  /** Where the author wrote it: the `const` of a view names its pointers. */
  readonly at: Location | undefined;
}

/** An argument as the author-side functions take it. */
export function asAuthorArgument(argument: Argument): unknown {
  if (isValue(argument)) return new Handle(argument);
  return isLiteral(argument) ? argument.value : argument;
}

/** Whether an index is the same in all lanes of its view. */
export function isScalar(index: Argument): boolean {
  return !isValue(index) || index.type.kind !== "tile" || index.type.shape.length === 0;
}

/**
 * The parts of a gather's index that is `rows.col - cols.row`, or a sum of such. Added to the pointer one after the other
 * they need one address for each row, and constants for the lanes of a row that an arange numbers; their sum needs an
 * address of 64 bits for each lane. Triton 3.6 makes a tenth fewer instructions of the loop of `relative-attention` so,
 * and a fifth fewer with 4 warps.
 */
export function splitGather(
  { tensor, indices, axes }: View,
  axis: number,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly x: Value; readonly y: Value; readonly join: AnyOp } | undefined {
  const stride = tensor.strides[axis]!;
  const isDense = isLiteral(stride) && stride.value === 1 && tensor.offsets !== "int64";
  if (axes[axis] !== undefined || !isDense) return undefined;
  const made = unclaimed(indices[axis]!, definitions);
  if (made?.kind !== "op") return undefined;
  const [x, y] = made.operands;
  const { integer } = made.op.facts;
  const join = integer === "sum" ? ADD : integer === "difference" ? SUB : undefined;
  if (!join || !isValue(x) || !isValue(y) || !areAcross(x, y)) return undefined;
  // Taken away from a pointer one by one, narrow numbers would wrap.
  return [x, y].every(({ type }) => type.kind === "tile" && type.dtype === "int32") ? { x, y, join } : undefined;
}

/** The parts of an index that is `base + tl.arange(0, n)`, of integers of 32 bits. */
export function blockIn(
  { tensor, indices }: View,
  axis: number,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly base: Value; readonly lanes: Value } | undefined {
  const made = unclaimed(indices[axis]!, definitions);
  if (tensor.offsets === "int64" || made?.kind !== "op" || made.op.facts.integer !== "sum") return undefined;
  const [x, y] = made.operands;
  if (!isValue(x) || !isValue(y)) return undefined;
  const [base, lanes] = isScalar(x) ? [x, y] : [y, x];
  const counted = definitions.get(lanes);
  const isBlock = isScalar(base) && counted?.kind === "op" && counted.op.facts.exclusiveUpperBound !== undefined;
  return isBlock && dtypeOf(new Handle(base)) === "int32" ? { base, lanes } : undefined;
}

/** What makes an index, below what only states facts about it. */
function unclaimed(index: Argument, definitions: ReadonlyMap<Value, Statement>): Statement | undefined {
  const made = isValue(index) ? definitions.get(index) : undefined;
  return made?.kind === "op" && made.op.facts.claimsInBounds ? unclaimed(made.operands[0]!, definitions) : made;
}

/** Whether two tiles of two axes have a row and a column: their broadcast has more lanes than both. */
function areAcross(x: Value, y: Value): boolean {
  if (x.type.kind !== "tile" || y.type.kind !== "tile") return false;
  const [from, to] = [x.type.shape, y.type.shape];
  if (from.length !== 2 || to.length !== 2) return false;
  return (from[0] === 1 && to[1] === 1) || (from[1] === 1 && to[0] === 1);
}

/** What an argument is, in a key. */
export function id(argument: Argument): string {
  if (isList(argument)) return argument.map(id).join("·");
  return isValue(argument) ? `%${argument.id}` : isLiteral(argument) ? String(argument.value) : "?";
}

/** `rm[:, None] * stride_am`, as far as it is not 0. */
export function term(index: Argument, view: View, axis: number, isScalar = false): readonly unknown[] {
  if (isLiteral(index) && index.value === 0) return [];
  const stride = view.tensor.strides[axis]!;
  const isNext = isLiteral(stride) && stride.value === 1;
  const counted = isNext ? index : promoteIndex(stride, index);
  const position = isScalar ? asAuthorArgument(counted) : expandIndex(counted, view, axis);
  if (isNext) return [position];
  if (view.tensor.offsets === "int64") return [wideTerm(index, position, stride)];
  if (isLiteral(index) && isLiteral(stride)) return [Number(index.value) * Number(stride.value)];
  return [isLiteral(index) && index.value === 1 ? strideOf(stride) : MUL(position, strideOf(stride))];
}

/**
 * An index as it is counted with a size. A number without a dtype takes that of the index, so with one of 8 or 16 bits the
 * product would wrap, and some numbers have no place in it.
 */
export function promoteIndex(size: Argument, index: Argument): Argument {
  if (!isLiteral(size) || !isValue(index) || index.type.kind !== "tile") return index;
  const widths = members(index.type.dtype).map((dtype) => (isInt(dtype) ? dtypeTable[dtype].bits : 64));
  if (widths.every((bits) => bits >= 32)) return index;
  // A dtype variable may also stand for integers that int32 does not hold.
  const wide = widths.every((bits) => bits < 32) ? dtypes.int32 : dtypes.int64;
  return valueOf(TO(new Handle(index), wide) as Handle);
}

/** The same in 64 bits: one wide side is enough. */
function wideTerm(index: Argument, position: unknown, stride: Argument): unknown {
  if (isLiteral(index) && isLiteral(stride)) return Number(index.value) * Number(stride.value);
  const isTile = isValue(index) && index.type.kind === "tile";
  // Of lanes there are many: sizes are multiplied apart from them.
  if (isTile && (isScalar(index) || !isList(stride)))
    return MUL(TO(position, dtypes.int64), ...(isList(stride) ? stride : [stride]).map(asAuthorArgument));
  if (isLiteral(index) && index.value === 1 && !isList(stride)) return asAuthorArgument(stride);
  const wide = strideOf(stride, dtypes.int64);
  return isLiteral(index) && index.value === 1 ? wide : MUL(position, wide);
}

/** The distance of two elements along an axis; in a dtype, as soon as two sizes are multiplied. */
export function strideOf(stride: Argument, dtype?: unknown): unknown {
  const [first, ...others] = isList(stride) ? stride : [stride];
  const start = asAuthorArgument(first!);
  return [dtype ? TO(start, dtype) : start, ...others.map(asAuthorArgument)].reduce((product, each) =>
    MUL(product, each),
  );
}

/** Offsets of 32 bits as their sum, so that they are widened once. Those of 64 bits leave a row's pointer to others. */
export function sumOffsets(offsets: readonly unknown[]): readonly unknown[] {
  const [first, ...others] = offsets;
  const isOne = others.length > 0 && offsets.every((each) => dtypeOf(each) === "int32");
  return isOne ? [ADD(first, ...others)] : offsets;
}

/** Of a number in memory or in a register; nothing of a literal or a constexpr. */
function dtypeOf(offset: unknown): unknown {
  const type = offset instanceof Handle ? valueOf(offset).type : undefined;
  return type?.kind === "tile" ? type.dtype : undefined;
}

/** An index on the axis of the result that it spans: `rm[:, None]`. */
export function expandIndex(index: Argument, view: View, axis: number): unknown {
  const position = view.axes[axis];
  let result: unknown = asAuthorArgument(index);
  if (position === undefined) return result;
  for (let i = 0; i < position; i++) result = EXPAND(result, 0);
  for (let i = position + 1; i < view.rank; i++) result = EXPAND(result, i);
  return result;
}

/** Where an index lies among the axes of a result, in a key; nothing where it is written as it is. */
export function axisKey(view: Pick<View, "axes" | "rank">, axis: number): string {
  const position = view.axes[axis];
  return position === undefined || view.rank < 2 ? "" : `@${position}/${view.rank}`;
}

/** An index that the author's program placed: `rm[:, None]` is `rm` on axis 0 of 2. */
export function placementOf(
  argument: Argument,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly index: Argument; readonly where: string } | undefined {
  const made = isValue(argument) ? definitions.get(argument) : undefined;
  if (made?.kind !== "op" || made.op !== opOf(expandDims)) return { index: argument, where: "" };
  const [from, axis] = made.operands;
  if (!isLiteral(axis)) return undefined;
  const inner = placementOf(from!, definitions);
  const known =
    inner && isValue(inner.index) && inner.index.type.kind === "tile" && inner.index.type.shape.length === 1;
  if (!known) return undefined;
  const [position, rank] = inner.where === "" ? [0, 1] : inner.where.slice(1).split("/").map(Number);
  const at = Number(axis.value) < 0 ? Number(axis.value) + rank! + 1 : Number(axis.value);
  return { index: inner.index, where: `@${at <= position! ? position! + 1 : position!}/${rank! + 1}` };
}
