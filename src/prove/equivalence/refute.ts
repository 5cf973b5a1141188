/** Searches for a small launch at which a kernel and its reference differ. The evaluator decides, not the terms. */
import type { Comparison, TestCase } from "../../compiled/compiled-kernel.js";
import { type KernelIR, paramsOf } from "../../ir/nodes.js";
import { type IndexedConfig, integersOf, LaunchSearch, testCaseOf } from "../launch-search.js";
import { symbolicLaunch } from "../model/launch.js";
import { number, symbol } from "../../symbolic/term.js";
import { Valuation } from "../valuation.js";

/** Runs test cases of a kernel or an operator, and compares its outputs with the reference's. */
export interface ComparingRunner {
  /** The reason why a test case cannot be launched, or undefined. */
  refusal(testCase: TestCase): string | undefined;
  /** The number of lanes that a test case computes. */
  lanes(testCase: TestCase): number;
  /** Compares this output; others may be compared as well. */
  compare(testCase: TestCase, output: string): Comparison | undefined;
}

export interface DifferingLaunch {
  readonly at: TestCase;
  readonly worst: NonNullable<Comparison["worst"]>;
}

/**
 * `lanes` is of all searched cases together, `declaredLanes` of each declared shape. `incomparable` cases, in which
 * programs may wait for one another, end the search.
 */
const LIMITS = { cases: 12, incomparable: 4, tried: 200, lanes: 1e6, declaredLanes: 2e7 } as const;
/** Relative and absolute; approximations of functions may differ by less. */
const LEAST_DIFFERENCE = 1e-2;

/**
 * A launch at which an output differs from the reference's with every float in float64, so that rounding cannot be the
 * reason: of small sizes, or of a declared shape.
 */
export function findDifference(
  ir: KernelIR,
  output: string,
  configs: readonly IndexedConfig[],
  runner: ComparingRunner,
): DifferingLaunch | undefined {
  let [runs, incomparable, tried, lanes] = [0, 0, 0, 0];
  for (const config of configs) {
    const launch = symbolicLaunch(ir, config.values);
    const sizes = [...launch.chosen].flatMap(([name, domain]) => (domain === "size" ? [symbol(name)] : []));
    const constants = integersOf(config.values).map(([, value]) => number(value));
    const search = new LaunchSearch(launch, [...launch.facts, ...sizes], [...launch.facts, ...constants]);
    for (const values of search.sizes()) {
      if (runs >= LIMITS.cases || tried++ >= LIMITS.tried) return differenceAtShape(ir, output, configs, runner);
      if (!search.mayLaunch(new Valuation(values))) continue;
      const at = testCaseOf(ir, config.index, new Map([...values, ...integersOf(config.values)]));
      const needed = isDegenerate(at) ? undefined : lanesOf(at, runner);
      if (needed === undefined || lanes + needed > LIMITS.lanes) continue;
      lanes += needed;
      runs++;
      const comparison = comparisonAt(at, output, runner);
      const difference = differenceIn(comparison, at, output);
      if (difference) return difference;
      if (comparison === undefined && ++incomparable === LIMITS.incomparable) return undefined;
    }
  }
  return differenceAtShape(ir, output, configs, runner);
}

/** A declared shape in the first config, with the defaults of other arguments, at which an output differs. */
function differenceAtShape(
  ir: KernelIR,
  output: string,
  [config]: readonly IndexedConfig[],
  runner: ComparingRunner,
): DifferingLaunch | undefined {
  if (!config) return undefined;
  const defaults = [...paramsOf(ir, "constexpr"), ...paramsOf(ir, "scalar")].flatMap(({ name, default: preset }) =>
    typeof preset === "number" ? [[name, preset] as const] : [],
  );
  const cases = ir.shapes.map((shape) => {
    const numbers = Object.entries(shape).flatMap(([name, value]) =>
      typeof value === "string" ? [] : [[name, Number(value)] as const],
    );
    return testCaseOf(ir, config.index, new Map([...defaults, ...numbers, ...integersOf(config.values)]));
  });
  // Of an operator, the lanes of some launches may be unknown.
  const costOf = (at: TestCase): number =>
    Math.max(
      lanesOf(at, runner) ?? Infinity,
      Object.values(at.sizes).reduce((x, y) => x * y, 1),
    );
  const affordable = cases.filter((at) => costOf(at) <= LIMITS.declaredLanes);
  for (const at of affordable) {
    const difference = differenceIn(comparisonAt(at, output, runner), at, output);
    if (difference) return difference;
  }
  return undefined;
}

function differenceIn(
  { finds, worst }: Partial<Comparison> = {},
  at: TestCase,
  output: string,
): DifferingLaunch | undefined {
  return finds === "mistake" && worst?.output === output && isLarge(worst) ? { at, worst } : undefined;
}

/** Sizes and constexprs of 0 are often not meant, and references may refuse them. */
const isDegenerate = ({ sizes, constexprs = {} }: TestCase): boolean =>
  [...Object.values(sizes), ...Object.values(constexprs)].some((value) => typeof value === "number" && value < 1);

const isLarge = ({ got, expected }: DifferingLaunch["worst"]): boolean =>
  !(Math.abs(Number(got) - Number(expected)) <= LEAST_DIFFERENCE * (1 + Math.abs(Number(expected))));

/** The lanes of a launch, or undefined if it is refused. */
function lanesOf(testCase: TestCase, runner: ComparingRunner): number | undefined {
  try {
    return runner.refusal(testCase) === undefined ? runner.lanes(testCase) : undefined;
  } catch {
    // A host expression may fail for a candidate, such as by a division by 0.
    return undefined;
  }
}

function comparisonAt(testCase: TestCase, output: string, runner: ComparingRunner): Comparison | undefined {
  try {
    return runner.compare(testCase, output);
  } catch {
    // A reference may refuse the sizes.
    return undefined;
  }
}
