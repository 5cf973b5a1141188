/**
 * The mask of a view: which bounds of each index to compare. The evaluator turns off every lane outside an axis for which
 * `masksAxis` holds; the emitted code omits comparisons that are certainly true.
 */
import { type Argument, isLiteral, isValue, type KernelIR, type Statement, type Value } from "../ir/nodes.js";
import { bodiesOf, definitions } from "../ir/walk.js";
import { masksAxis } from "../values/view-addresses.js";
import { nonNegativeValues } from "./signs.js";

/** The comparisons that keep an index inside its axis. */
export interface Bounds {
  /** `index >= 0` */
  readonly lower: boolean;
  /** `index < size` */
  readonly upper: boolean;
}

const NONE: Bounds = { lower: false, upper: false };

/** An axis of a view: an axis of the tensor, of size `dim`, and its index. */
export interface ViewAxis {
  readonly index: Argument;
  readonly dim: Argument;
  readonly axis: number;
  readonly claimed: readonly boolean[];
}

/** The comparisons that a view of this kernel needs on an axis. */
export function viewBounds(ir: KernelIR): (place: ViewAxis) => Bounds {
  const isNonNegative = nonNegativeValues(ir);
  const made = definitions(...bodiesOf(ir));
  return ({ index, dim, axis, claimed }) => {
    if (!masksAxis(claimed, axis) || coversExactly(index, dim, made) || isWithin(index, dim)) return NONE;
    return { lower: !isNonNegative(index), upper: true };
  };
}

/** `tl.arange(0, HEAD_DIM)` on an axis of size HEAD_DIM. */
function coversExactly(index: Argument, dim: Argument, definitions: ReadonlyMap<Value, Statement>): boolean {
  if (!isValue(index) || index.type.kind !== "tile") return false;
  const made = definitions.get(index);
  if (made?.kind !== "op" || !made.op.facts.countsFromZero?.(made.operands)) return false;
  const size = isLiteral(dim) ? dim.value : isValue(dim) && dim.type.kind === "constexpr" ? dim.type.text : undefined;
  return index.type.shape[0] === size;
}

/** Element 0 of an axis of size 1. */
function isWithin(index: Argument, dim: Argument): boolean {
  return isLiteral(index) && isLiteral(dim) && Number(index.value) >= 0 && Number(index.value) < Number(dim.value);
}
