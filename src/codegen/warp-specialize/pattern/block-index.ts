/** Indices that count up from a scalar: `pid * BLOCK + tl.arange(0, BLOCK)`, wrapped or claimed in bounds. */
import { type Argument, isLiteral, isValue, type Statement, type Value } from "../../../ir/nodes.js";
import { isLosslessIntegerCast } from "../../../analysis/integers.js";
import type { Dim } from "../../../types/shape.js";

export interface BlockIndex {
  /** Scalars whose sum is the first lane's index. */
  readonly starts: readonly Argument[];
  /** How many lanes it has. */
  readonly extent: Argument;
  /** The size by which the remainder is taken. */
  readonly wraps?: Argument | undefined;
}

/** Undefined where the lanes do not certainly count up by one. */
export function blockIndexOf(index: Argument, made: ReadonlyMap<Value, Statement>): BlockIndex | undefined {
  const statement = isValue(index) ? made.get(index) : undefined;
  if (statement?.kind !== "op") return undefined;
  const { op, operands } = statement;
  const [first, second] = operands;
  const extent = op.facts.exclusiveUpperBound?.(operands);
  if (extent !== undefined) return { starts: [], extent };
  if (first === undefined) return undefined;
  // A cast to fewer bits wraps.
  if (op.facts.isIdentity) {
    const isSame = isValue(first) && isValue(index) && isLosslessIntegerCast(index.type, first.type);
    return isSame ? blockIndexOf(first, made) : undefined;
  }
  if (second === undefined) return undefined;
  if (op.facts.integer === "sum") {
    const [scalar, lanes] = isScalar(first) ? [first, second] : [second, first];
    const inner = isScalar(scalar) ? blockIndexOf(lanes, made) : undefined;
    return inner && inner.wraps === undefined ? { ...inner, starts: [scalar, ...inner.starts] } : undefined;
  }
  if (op.facts.integer === "remainder" && isScalar(second)) {
    const inner = blockIndexOf(first, made);
    return inner && inner.wraps === undefined ? { ...inner, wraps: second } : undefined;
  }
  return undefined;
}

export const isScalar = (argument: Argument): boolean =>
  !isValue(argument) || argument.type.kind !== "tile" || argument.type.shape.length === 0;

/** Whether two indices have the same lanes, before either wraps. */
export function isSameBlock(a: BlockIndex, b: BlockIndex): boolean {
  return (
    a.extent === b.extent && a.starts.length === b.starts.length && a.starts.every((start, i) => start === b.starts[i])
  );
}

/** The text of an extent, or its number. */
export function extentDim(extent: Argument): Dim {
  if (isValue(extent)) return extent.type.kind === "constexpr" ? extent.type.text : "";
  return isLiteral(extent) ? Number(extent.value) : "";
}
