/** Searches for a small launch at which a kernel and its reference differ. The evaluator decides, not the terms. */
import type { Comparison, TestCase } from "../../compiled/compiled-kernel.js";
import type { KernelIR } from "../../ir/nodes.js";
import { type IndexedConfig, integersOf, LaunchSearch, testCaseOf } from "../launch-search.js";
import { symbolicLaunch } from "../model/launch.js";
import { Valuation } from "../valuation.js";

/** Runs test cases of a kernel, and compares its outputs with the reference's. */
export interface ComparingRunner {
  /** The reason why a test case cannot be launched, or undefined. */
  refusal(testCase: TestCase): string | undefined;
  /** The number of lanes that a test case computes. */
  lanes(testCase: TestCase): number;
  compare(testCase: TestCase): Comparison | undefined;
}

export interface DifferingLaunch {
  readonly at: TestCase;
  readonly worst: NonNullable<Comparison["worst"]>;
}

const LIMITS = { cases: 8, tried: 200, lanes: 2e6 } as const;

/**
 * A launch at which an output differs from the reference's with every float in float64, so that rounding cannot be the
 * reason.
 */
export function findDifference(
  ir: KernelIR,
  output: string,
  configs: readonly IndexedConfig[],
  runner: ComparingRunner,
): DifferingLaunch | undefined {
  let [runs, tried] = [0, 0];
  for (const config of configs) {
    const launch = symbolicLaunch(ir, config.values);
    const search = new LaunchSearch(launch, launch.facts);
    for (const sizes of search.sizes()) {
      if (runs >= LIMITS.cases || tried++ >= LIMITS.tried) return undefined;
      if (!search.mayLaunch(new Valuation(sizes))) continue;
      const at = testCaseOf(ir, config.index, new Map([...sizes, ...integersOf(config.values)]));
      const comparison = comparisonAt(at, runner);
      if (comparison === "refused") continue;
      runs++;
      const { worst } = comparison ?? {};
      if (comparison?.finds === "mistake" && worst?.output === output) return { at, worst };
    }
  }
  return undefined;
}

function comparisonAt(testCase: TestCase, runner: ComparingRunner): Comparison | "refused" | undefined {
  try {
    if (runner.refusal(testCase) !== undefined || runner.lanes(testCase) > LIMITS.lanes) return "refused";
    return runner.compare(testCase);
  } catch {
    // A host expression may fail for a candidate, such as by a division by 0.
    return "refused";
  }
}
