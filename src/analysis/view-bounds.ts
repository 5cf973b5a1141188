/**
 * The mask of a view: the bounds that each index is compared with. The evaluator masks every lane that is out of bounds
 * on an axis with `masksAxis`. The emitted code omits comparisons that are provably true.
 */
import type { Argument, KernelIR } from "../ir/nodes.js";
import { isAxisMasked } from "../values/view-addresses.js";
import { InBoundsAnalysis, type LaneLimit } from "./in-bounds.js";
import { LaunchFacts } from "./launch-facts.js";
import { nonNegativeValues } from "./signs.js";

/** The comparisons that keep an index in bounds. */
export interface BoundsChecks {
  /** `index >= 0` */
  readonly lower: boolean;
  /** `index < size` */
  readonly upper: boolean;
}

const NO_CHECKS: BoundsChecks = { lower: false, upper: false };

/** An axis of a view: its index, and the tensor axis with its size `dim`. */
export interface ViewAxis {
  readonly index: Argument;
  readonly dim: Argument;
  readonly axis: number;
  readonly claimed: readonly boolean[];
  /** Limits from the access's mask. Undefined if the query is about the view alone. */
  readonly limits?: readonly LaneLimit[];
}

/** Returns the comparisons that a view of this kernel needs on an axis. */
export function viewBounds(ir: KernelIR): (viewAxis: ViewAxis) => BoundsChecks {
  const facts = new LaunchFacts(ir);
  const isNonNegative = nonNegativeValues(ir, facts);
  const inBounds = new InBoundsAnalysis(facts, isNonNegative);
  return ({ index, dim, axis, claimed, limits }) => {
    if (!isAxisMasked(claimed, axis)) return NO_CHECKS;
    return { lower: !isNonNegative(index), upper: !inBounds.isBelow(index, dim, limits) };
  };
}
