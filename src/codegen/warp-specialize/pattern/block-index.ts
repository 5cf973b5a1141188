/**
 * Indices that increase by one from a scalar: `pid * BLOCK + tl.arange(0, BLOCK)`, optionally wrapped or asserted in
 * bounds.
 */
import { type Argument, isLiteral, isValue, type Statement, type Value } from "../../../ir/nodes.js";
import { isLosslessIntegerCast } from "../../../analysis/integers.js";
import type { Dim } from "../../../types/shape.js";

export interface BlockIndex {
  /** Scalars whose sum is the index of the first lane. */
  readonly starts: readonly Argument[];
  /** The number of lanes. */
  readonly extent: Argument;
  /** The divisor, if the index is a remainder. */
  readonly wraps?: Argument | undefined;
}

/** Undefined if the lanes do not provably increase by one. */
export function blockIndexOf(
  index: Argument | undefined,
  definitionsOf: ReadonlyMap<Value, Statement>,
): BlockIndex | undefined {
  const statement = isValue(index) ? definitionsOf.get(index) : undefined;
  if (statement?.kind !== "op") return undefined;
  const { op, operands } = statement;
  const [first, second] = operands;
  const extent = op.facts.exclusiveUpperBound?.(operands);
  if (extent !== undefined) return { starts: [], extent };
  if (first === undefined) return undefined;
  // A cast to fewer bits wraps.
  if (op.facts.isIdentity) {
    const isLossless = isValue(first) && isValue(index) && isLosslessIntegerCast(index.type, first.type);
    return isLossless ? blockIndexOf(first, definitionsOf) : undefined;
  }
  if (second === undefined) return undefined;
  if (op.facts.integer === "sum") {
    const [scalar, lanes] = isScalar(first) ? [first, second] : [second, first];
    const inner = isScalar(scalar) ? unwrappedIndexOf(lanes, definitionsOf) : undefined;
    return inner && { ...inner, starts: [scalar, ...inner.starts] };
  }
  if (op.facts.integer !== "remainder" || !isScalar(second)) return undefined;
  const inner = unwrappedIndexOf(first, definitionsOf);
  return inner && { ...inner, wraps: second };
}

function unwrappedIndexOf(index: Argument, definitionsOf: ReadonlyMap<Value, Statement>): BlockIndex | undefined {
  const blockIndex = blockIndexOf(index, definitionsOf);
  return blockIndex?.wraps === undefined ? blockIndex : undefined;
}

export const isScalar = (argument: Argument): boolean =>
  !isValue(argument) || argument.type.kind !== "tile" || argument.type.shape.length === 0;

/** True if two indices have the same lanes before wrapping. */
export function isSameBlock(a: BlockIndex, b: BlockIndex): boolean {
  return (
    a.extent === b.extent && a.starts.length === b.starts.length && a.starts.every((start, i) => start === b.starts[i])
  );
}

/** The dim of an extent: its text or its number. */
export function extentDim(extent: Argument): Dim {
  if (isValue(extent)) return extent.type.kind === "constexpr" ? extent.type.text : "";
  return isLiteral(extent) ? Number(extent.value) : "";
}
