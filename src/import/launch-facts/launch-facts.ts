/** What the noted launches of a kernel say of it besides its Python: all of it holds of each of them. */
import { hostValue } from "../host-text.js";
import type { HostTree } from "../tree.js";

export interface Inferred {
  /** The number of programs by sizes, where the script does not say it so. */
  readonly grid?: readonly HostTree[];
  /** What a launch has to meet, so that its accesses are in bounds and its outputs are written. */
  readonly requires: readonly HostTree[];
}

/** Sizes and numbers by their names: one map for each launch. */
export type RecordedValues = readonly ReadonlyMap<string, number>[];

/** Whether a condition holds of every launch that was noted. */
export const holdsForAllLaunches = (condition: HostTree, noted: RecordedValues): boolean =>
  noted.length > 0 && noted.every((values) => hostValue(condition, values) === true);
