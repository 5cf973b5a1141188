/**
 * The mask of a view: which bounds of each index to compare. The evaluator turns off every lane outside an axis for which
 * `masksAxis` holds; the emitted code omits comparisons that are certainly true.
 */
import type { Argument, KernelIR } from "../ir/nodes.js";
import { masksAxis } from "../values/view-addresses.js";
import { InBoundsAnalysis, type LaneLimit } from "./in-bounds.js";
import { LaunchFacts } from "./launch-facts.js";
import { nonNegativeValues } from "./signs.js";

/** The comparisons that keep an index inside its axis. */
export interface BoundsChecks {
  /** `index >= 0` */
  readonly lower: boolean;
  /** `index < size` */
  readonly upper: boolean;
}

const NONE: BoundsChecks = { lower: false, upper: false };

/** An axis of a view: an axis of the tensor, of size `dim`, and its index. */
export interface ViewAxis {
  readonly index: Argument;
  readonly dim: Argument;
  readonly axis: number;
  readonly claimed: readonly boolean[];
  /** Of the access; nothing where the view alone is asked about. */
  readonly limits?: readonly LaneLimit[];
}

/** The comparisons that a view of this kernel needs on an axis. */
export function viewBounds(ir: KernelIR): (place: ViewAxis) => BoundsChecks {
  const facts = new LaunchFacts(ir);
  const isNonNegative = nonNegativeValues(ir, facts);
  const covered = new InBoundsAnalysis(facts, isNonNegative);
  return ({ index, dim, axis, claimed, limits }) => {
    if (!masksAxis(claimed, axis)) return NONE;
    return { lower: !isNonNegative(index), upper: !covered.isBelow(index, dim, limits) };
  };
}
