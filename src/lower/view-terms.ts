/** The term that an index adds to the address of a view, built with the public ops. */
import type { Location } from "../diagnostics/diagnostic.js";
import { dtypes, dtypeTable, isInt, members } from "../types/dtype.js";
import { Handle, valueOf } from "../ir/handle.js";
import {
  type Argument,
  isList,
  isLiteral,
  isZeroLiteral,
  isValue,
  type Statement,
  type TensorParam,
  type Value,
  type ForStatement,
  type OpStatement,
  type Scope,
} from "../ir/nodes.js";
import { add, mul, sub } from "../ops/arithmetic.js";
import { to } from "../ops/cast.js";
import { opOf } from "../ops/define.js";
import { and, ge, lt } from "../ops/compare.js";
import { expandDims } from "../ops/axes.js";
import type { LaneLimit } from "../analysis/in-bounds.js";
import { onlyResult, walk } from "../ir/walk.js";

/** The ops without static types: shapes and dtypes are the author's, known only to the type rules. */
type AnyOp = (...args: unknown[]) => unknown;
const untyped = (op: unknown) => op as AnyOp;
export const [ADD, SUB, MUL, AND] = [untyped(add), untyped(sub), untyped(mul), untyped(and)];
export const [GE, LT] = [untyped(ge), untyped(lt)];
const [EXPAND, TO] = [untyped(expandDims), untyped(to)];

/** An axis of a tensor, with the index of a view. */
export interface IndexedAxis {
  readonly axis: number;
  readonly index: Argument;
  readonly stride: Argument;
  readonly dim: Argument;
  /** The axis of the result that the index spans. Undefined for scalars, and for gathers, whose indices broadcast. */
  readonly position: number | undefined;
}

/** A view that has not been lowered yet, because only its loads and stores determine how. */
export interface View {
  readonly tensor: TensorParam;
  readonly axes: readonly IndexedAxis[];
  readonly claimed: readonly boolean[];
  readonly rank: number;
  /** The location of the view. The name of a view's `const` becomes the name of its pointers. */
  readonly at: Location | undefined;
}

/** Converts an argument to the form that authors pass to ops. */
export function asAuthorArgument(argument: Argument): unknown {
  if (isValue(argument)) return new Handle(argument);
  return isLiteral(argument) ? argument.value : argument;
}

/** True if an index is the same in all lanes of its view. */
export function isScalar(index: Argument): boolean {
  return !isValue(index) || index.type.kind !== "tile" || index.type.shape.length === 0;
}

/**
 * Splits a gather's index of the form `rows.col - cols.row`, or `+`. If both operands are added to the pointer in
 * sequence, only one address per row is needed, plus constant offsets for the lanes of an arange. Their sum would need
 * a 64-bit address per lane.
 * Triton 3.6 emits a tenth fewer instructions for the loop of `relative-attention`, and a fifth fewer with 4 warps.
 */
export function splitGather(
  { tensor }: View,
  { index, stride, position }: IndexedAxis,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly x: Value; readonly y: Value; readonly combine: AnyOp } | undefined {
  const isDense = isLiteral(stride) && stride.value === 1 && tensor.offsets !== "int64";
  if (position !== undefined || !isDense) return undefined;
  const definition = definitionBelowClaims(index, definitions);
  if (definition?.kind !== "op") return undefined;
  const [x, y] = definition.operands;
  const { integer } = definition.op.facts;
  if (integer !== "sum" && integer !== "difference") return undefined;
  const combine = integer === "sum" ? ADD : SUB;
  if (!isValue(x) || !isValue(y) || !areRowAndColumn(x, y)) return undefined;
  // Narrow integers would wrap if they were subtracted from a pointer separately.
  return [x, y].every(({ type }) => type.kind === "tile" && type.dtype === "int32") ? { x, y, combine } : undefined;
}

/** Splits an int32 index of the form `base + tl.arange(0, n)`. */
export function blockIn(
  { tensor }: View,
  { index }: IndexedAxis,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly base: Value; readonly lanes: Value } | undefined {
  const definition = definitionBelowClaims(index, definitions);
  if (tensor.offsets === "int64" || definition?.kind !== "op" || definition.op.facts.integer !== "sum")
    return undefined;
  const [x, y] = definition.operands;
  if (!isValue(x) || !isValue(y)) return undefined;
  const [base, lanes] = isScalar(x) ? [x, y] : [y, x];
  const lanesDefinition = definitions.get(lanes);
  const isBlock =
    isScalar(base) && lanesDefinition?.kind === "op" && lanesDefinition.op.facts.exclusiveUpperBound !== undefined;
  return isBlock && dtypeOf(new Handle(base)) === "int32" ? { base, lanes } : undefined;
}

/** True if one tile is a row and the other a column, so that their broadcast has more lanes than both. */
function areRowAndColumn(x: Value, y: Value): boolean {
  if (x.type.kind !== "tile" || y.type.kind !== "tile") return false;
  const [xShape, yShape] = [x.type.shape, y.type.shape];
  if (xShape.length !== 2 || yShape.length !== 2) return false;
  return (xShape[0] === 1 && yShape[1] === 1) || (xShape[1] === 1 && yShape[0] === 1);
}

/** The key of an argument. */
export function argumentKey(argument: Argument): string {
  if (isList(argument)) return argument.map(argumentKey).join("·");
  if (isValue(argument)) return `%${argument.id}`;
  return isLiteral(argument) ? String(argument.value) : "?";
}

/** `rm[:, None] * stride_am`, for an index of an axis. Empty if the index is 0. */
export function term(index: Argument, view: View, axis: IndexedAxis, isScalar = false): readonly unknown[] {
  if (isZeroLiteral(index)) return [];
  const { stride } = axis;
  const isContiguous = isLiteral(stride) && stride.value === 1;
  const promoted = isContiguous ? index : promoteIndex(stride, index);
  const position = isScalar ? asAuthorArgument(promoted) : expandIndex(promoted, view, axis);
  if (isContiguous) return [position];
  if (view.tensor.offsets === "int64") return [wideTerm(index, position, stride)];
  if (isLiteral(index) && isLiteral(stride)) return [Number(index.value) * Number(stride.value)];
  return [isLiteral(index) && index.value === 1 ? strideOf(stride) : MUL(position, strideOf(stride))];
}

/**
 * Promotes an index before it is combined with a size. A literal size adopts the dtype of the index, so an index with 8
 * or 16 bits would wrap, and some sizes do not fit.
 */
export function promoteIndex(size: Argument, index: Argument): Argument {
  if (!isLiteral(size) || !isValue(index) || index.type.kind !== "tile") return index;
  const widths = members(index.type.dtype).map((dtype) => (isInt(dtype) ? dtypeTable[dtype].bits : 64));
  if (widths.every((bits) => bits >= 32)) return index;
  // A dtype variable may also be bound to integers that exceed int32.
  const wide = widths.every((bits) => bits < 32) ? dtypes.int32 : dtypes.int64;
  return valueOf(TO(new Handle(index), wide) as Handle);
}

/** The term in 64 bits. It suffices to widen one operand. */
function wideTerm(index: Argument, position: unknown, stride: Argument): unknown {
  if (isLiteral(index) && isLiteral(stride)) return Number(index.value) * Number(stride.value);
  const isTile = isValue(index) && index.type.kind === "tile";
  // An op on a tile is executed per lane, so sizes are multiplied separately.
  if (isTile && (isScalar(index) || !isList(stride)))
    return MUL(TO(position, dtypes.int64), ...(isList(stride) ? stride : [stride]).map(asAuthorArgument));
  if (isLiteral(index) && index.value === 1 && !isList(stride)) return asAuthorArgument(stride);
  const wide = strideOf(stride, dtypes.int64);
  return isLiteral(index) && index.value === 1 ? wide : MUL(position, wide);
}

/**
 * The distance between two elements along an axis. With a dtype, the first size is cast before sizes are multiplied.
 */
export function strideOf(stride: Argument, dtype?: unknown): unknown {
  const sizes = (isList(stride) ? stride : [stride]).map(asAuthorArgument);
  return sizes
    .map((size, i) => (dtype && i === 0 ? TO(size, dtype) : size))
    .reduce((product, size) => MUL(product, size));
}

/** Adds 32-bit offsets to a single sum, which is widened once. 64-bit offsets stay separate. */
export function sumOffsets(offsets: readonly unknown[]): readonly unknown[] {
  const [first, ...others] = offsets;
  const isNarrow = others.length > 0 && offsets.every((each) => dtypeOf(each) === "int32");
  return isNarrow ? [ADD(first, ...others)] : offsets;
}

/** The dtype of a value in memory or a register. Undefined for literals and constexprs. */
function dtypeOf(offset: unknown): unknown {
  const type = offset instanceof Handle ? valueOf(offset).type : undefined;
  return type?.kind === "tile" ? type.dtype : undefined;
}

/** Expands an index to the axis of the result that it spans: `rm[:, None]`. */
export function expandIndex(index: Argument, view: View, { position }: IndexedAxis): unknown {
  let result: unknown = asAuthorArgument(index);
  if (position === undefined) return result;
  for (let i = 0; i < position; i++) result = EXPAND(result, 0);
  for (let i = position + 1; i < view.rank; i++) result = EXPAND(result, i);
  return result;
}

/** The axis of a result that an index spans, and the rank of the result. */
interface Placement {
  readonly position: number | undefined;
  readonly rank: number;
}

/** The key of an index's axis in a result. Empty if the index is not expanded. */
export function axisKey({ position, rank }: Placement): string {
  return position === undefined || rank < 2 ? "" : `@${position}/${rank}`;
}

/** Undoes expansions in the author's program: `rm[:, None]` is `rm` on axis 0 of 2. */
export function placementOf(
  argument: Argument,
  definitions: ReadonlyMap<Value, Statement>,
): { readonly index: Argument; readonly position: number; readonly rank: number } | undefined {
  const definition = isValue(argument) ? definitions.get(argument) : undefined;
  if (definition?.kind !== "op" || definition.op !== opOf(expandDims)) return { index: argument, position: 0, rank: 1 };
  const [source, axis] = definition.operands;
  if (source === undefined || !isLiteral(axis)) return undefined;
  const inner = placementOf(source, definitions);
  const isVector =
    inner && isValue(inner.index) && inner.index.type.kind === "tile" && inner.index.type.shape.length === 1;
  if (!isVector) return undefined;
  const { index, position } = inner;
  const rank = inner.rank + 1;
  const newAxis = Number(axis.value) < 0 ? Number(axis.value) + rank : Number(axis.value);
  return { index, position: newAxis <= position ? position + 1 : position, rank };
}

// Upper bounds on lanes that follow from an explicit mask, valid in every lane that stays active.

type Definitions = ReadonlyMap<Value, Statement>;

/** The distinct conjuncts of a mask. */
export function conjunctsOf(mask: Argument, definitions: Definitions): readonly Argument[] {
  const conjuncts = new Set<Argument>([mask]);
  for (const conjunct of conjuncts) {
    const definition = isValue(conjunct) ? definitions.get(conjunct) : undefined;
    if (definition?.kind !== "op" || definition.op.facts.integer !== "both") continue;
    for (const operand of definition.operands) if (operand) conjuncts.add(operand);
  }
  return [...conjuncts];
}

/** The limits that masks set on the lanes of one axis: `lanes < GROUP`, or `(lanes < GROUP)[:, None]`. */
export function limitsFromMask(
  masks: readonly Argument[],
  axis: string,
  definitions: Definitions,
): readonly LaneLimit[] {
  return masks.flatMap((mask) => {
    const outer = placementOf(mask, definitions);
    if (!outer) return [];
    const definition = isValue(outer.index) ? definitions.get(outer.index) : undefined;
    const comparison =
      definition?.kind === "op"
        ? ORDERED_OPERANDS[definition.op.facts.integer ?? ""]?.(definition.operands)
        : undefined;
    const [smaller, limit] = comparison ?? [];
    if (smaller === undefined || limit === undefined) return [];
    const inner = placementOf(smaller, definitions);
    if (!inner || !isScalar(limit) || ![inner.index, limit].every(isIntegerIndex)) return [];
    const [outerAxis, innerAxis] = [axisKey(outer), axisKey(inner)];
    const isOnAxis = outerAxis === "" ? innerAxis === axis : innerAxis === "" && outerAxis === axis;
    return isOnAxis ? [{ lanes: inner.index, limit }] : [];
  });
}

type Operands = readonly (Argument | undefined)[];

/** Operands of a comparison, the smaller one first. */
const ORDERED_OPERANDS: Readonly<Record<string, ((operands: Operands) => Operands) | undefined>> = {
  below: (operands) => operands,
  above: ([x, y]) => [y, x],
};

/** True if the argument is an integer, as an index is. */
function isIntegerIndex(argument: Argument): boolean {
  if (isLiteral(argument)) return Number.isInteger(Number(argument.value));
  if (!isValue(argument)) return false;
  const { type } = argument;
  return type.kind === "constexpr" || (type.kind === "tile" && (type.dtype === "int32" || type.dtype === "int64"));
}

// Indices that vary with a loop: `k + tl.arange(0, BLOCK_K)`, or `step * BLOCK_K + tl.arange(0, BLOCK_K)`. In a loop
// with a dot, their pointers are initialized before the loop and advanced in it, as in Triton's tutorials. The next
// tile's addresses are then ready when the pipeline needs them.
// Measured on an H200 with float16, 8192³ and 128x256x64 blocks: 1.68 ms, and 1.82 ms if each iteration recomputes the
// addresses, although that takes fewer instructions.

/** True if a loop's pointers are worth a register each: it contains a dot, and Triton does not unroll it. */
export function loopHasDot(loop: ForStatement): boolean {
  let hasDot = false;
  walk(loop.body, (statement) => {
    if (statement.kind === "op" && statement.op.facts.contracts) hasDot = true;
  });
  return hasDot && !loop.unrolled;
}

/** True if a value is defined in a loop's body, including nested blocks, or is the loop's index. */
export function isDefinedInLoop(argument: Argument, loop: ForStatement): boolean {
  if (!isValue(argument)) return false;
  for (let scope: Scope | undefined = argument.scope; scope; scope = scope.parent)
    if (scope === loop.index.scope) return true;
  return false;
}

/** The index without the claims that it is in bounds. */
function withoutClaims(index: Argument, definitions: Definitions): Argument {
  const definition = isValue(index) ? definitions.get(index) : undefined;
  const claimed = definition?.kind === "op" && definition.op.facts.claimsInBounds ? definition.operands[0] : undefined;
  return claimed === undefined ? index : withoutClaims(claimed, definitions);
}

/** The definition of an index, without the claims that it is in bounds. */
function definitionBelowClaims(index: Argument, definitions: Definitions): Statement | undefined {
  const argument = withoutClaims(index, definitions);
  return isValue(argument) ? definitions.get(argument) : undefined;
}

/** An index that is an affine function of a loop's index. */
export interface InductionIndex {
  /** The statement that defines its lanes. */
  readonly lanes: OpStatement;
  /** The index itself: the sum of the lanes and `by`. */
  readonly sum: Value;
  /** The amount added to the lanes: the loop's index, or a multiple of it. */
  readonly by: Value;
  /** The constant factor of the loop's index. Undefined if the factor is 1. */
  readonly times?: Argument;
}

/**
 * Matches an index that is lanes plus the loop's index, or plus a constexpr multiple of it. Undefined if the index has
 * another form.
 */
export function laneInductionIndex(index: Argument, step: Value, definitions: Definitions): InductionIndex | undefined {
  const definition = definitionBelowClaims(index, definitions);
  if (definition?.kind !== "op" || !definition.op.facts.isDataMovement) return undefined;
  const [x, y] = definition.operands;
  for (const [by, addend] of [
    [x, y],
    [y, x],
  ]) {
    const scalarPart = timesOf(by, step, definitions);
    if (!scalarPart || !isValue(addend) || addend.type.kind !== "tile" || addend.type.shape.length !== 1) continue;
    const lanes = definitions.get(addend);
    // `tl.arange` of constexprs: nothing in it can change.
    return lanes?.kind === "op" && lanes.op.facts.exclusiveUpperBound
      ? { lanes, sum: onlyResult(definition), ...scalarPart }
      : undefined;
  }
  return undefined;
}

/**
 * Matches a scalar index in a loop that counts iterations, `for chunk in range(CHUNKS)`: the loop's index, or a
 * constexpr multiple of it. With pointers advanced by a chunk, a kernel that passes state from chunk to chunk has nine
 * tenths of the instructions.
 * Unrolled loops are excluded, because each of their iterations has a constant index. Loops over rows that programs
 * share are excluded, too: authors write these with `m * stride_xm`.
 */
export function scalarInductionIndex(
  index: Argument,
  loop: ForStatement,
  definitions: Definitions,
): Pick<InductionIndex, "times"> | undefined {
  const countsIterations = isNumber(loop.start, 0) && isNumber(loop.step, 1) && !loop.unrolled;
  if (!isValue(index) || !countsIterations) return undefined;
  return timesOf(withoutClaims(index, definitions), loop.index, definitions);
}

const isNumber = (argument: Argument, value: number): boolean => isLiteral(argument) && argument.value === value;

/** Matches `k` or `k * BLOCK_K`, where `k` is a loop's index. */
function timesOf(
  argument: Argument | undefined,
  step: Value,
  definitions: Definitions,
): Pick<InductionIndex, "by" | "times"> | undefined {
  if (!isValue(argument)) return undefined;
  if (argument === step) return { by: step };
  const definition = definitions.get(argument);
  if (definition?.kind !== "op" || definition.op.facts.integer !== "product") return undefined;
  const [x, y] = definition.operands;
  if (x !== step && y !== step) return undefined;
  const times = x === step ? y : x;
  return times !== undefined && isConstexpr(times) ? { by: argument, times } : undefined;
}

/** True if the value is known when Triton compiles. */
export function isConstexpr(value: Argument): boolean {
  return !isValue(value) || value.type.kind === "constexpr";
}
