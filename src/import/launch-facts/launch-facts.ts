/** Facts about a kernel that are true in all its recorded launches but do not follow from its Python code. */
import { hostValue } from "../host-text.js";
import type { HostTree } from "../tree.js";

export interface InferredLaunchFacts {
  /** The grid as a function of sizes. Absent if the script has such an expression itself. */
  readonly grid?: readonly HostTree[];
  /** Conditions under which the accesses of a launch are in bounds and its outputs are written completely. */
  readonly requires: readonly HostTree[];
}

/** Sizes and numeric arguments by name, one map per launch. */
export type RecordedValues = readonly ReadonlyMap<string, number>[];

export const holdsForAllLaunches = (condition: HostTree, recordedValues: RecordedValues): boolean =>
  recordedValues.length > 0 && recordedValues.every((values) => hostValue(condition, values) === true);
