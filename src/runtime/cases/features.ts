/** The features of test cases other than sizes and values, and an order that covers them early. */
import type { CompiledKernel, TestCase } from "../../compiled/compiled-kernel.js";

/** `x transposed`, `T=bfloat16`, `config 3`, `without bias`, `N=0`: what few cases suffice to try. */
export function featuresOf({ configs }: CompiledKernel, testCase: TestCase): readonly string[] {
  const { sizes, constexprs = {}, layouts = {}, absent = [] } = testCase;
  const flags = Object.entries(constexprs).filter(([, value]) => typeof value !== "number");
  const limits = Object.entries(sizes).filter(([, size]) => size < 2);
  // The strides of a single element decide nothing.
  const placed = limits.length > 0 ? [] : Object.entries(layouts).filter(([, layout]) => layout !== "contiguous");
  return [
    ...[...flags, ...limits].map(([name, value]) => `${name}=${value}`),
    ...placed.map(([name, layout]) => `${name} ${String(layout)}`),
    ...absent.map((name) => `no ${name}`),
    ...unprovedFeaturesOf({ configs }, testCase),
  ];
}

/** The features of which no proof says anything: proofs are about indices, and rounding and special values are not. */
function unprovedFeaturesOf(
  { configs }: Pick<CompiledKernel, "configs">,
  { dtypes, special = [], config }: TestCase,
): readonly string[] {
  return [
    ...Object.entries(dtypes).map(([name, value]) => `${name}=${value}`),
    ...special.map((kind) => (kind === "rows" || kind === "columns" ? `special ${kind}` : `${kind} among the inputs`)),
    ...(configs.length > 1 ? [`config ${config}`] : []),
  ];
}

/**
 * Puts cases first that together have every feature: always one with most features that are new, and of those the
 * cheapest. The other cases keep their order. If the kernel is proved, features that no proof covers come before others,
 * as do other cases with special values.
 */
export function breadthFirst(
  kernel: CompiledKernel,
  cases: readonly TestCase[],
  cost: (testCase: TestCase) => number,
  earlier: readonly TestCase[],
  isProved = false,
): readonly TestCase[] {
  const seen = new Set(earlier.flatMap((testCase) => featuresOf(kernel, testCase)));
  const orders = isProved ? [unprovedFeaturesOf, featuresOf] : [featuresOf];
  let pending = cases;
  const chosen: TestCase[] = [];
  for (const order of orders) {
    const counted = pending.map((testCase) => ({ testCase, features: order(kernel, testCase), cost: cost(testCase) }));
    for (let next = withMostOf(counted, seen); next; next = withMostOf(counted, seen)) {
      counted.splice(counted.indexOf(next), 1);
      chosen.push(next.testCase);
      for (const feature of featuresOf(kernel, next.testCase)) seen.add(feature);
    }
    pending = counted.map(({ testCase }) => testCase);
  }
  const isSpecial = ({ special = [] }: TestCase) => isProved && special.length > 0;
  return [...chosen, ...pending.filter(isSpecial), ...pending.filter((each) => !isSpecial(each))];
}

interface Counted {
  readonly testCase: TestCase;
  readonly features: readonly string[];
  readonly cost: number;
}

/** The cheapest of the cases with most features that are new; undefined if none has one. */
function withMostOf(cases: readonly Counted[], seen: ReadonlySet<string>): Counted | undefined {
  const gains = cases.map(({ features }) => features.filter((feature) => !seen.has(feature)).length);
  const most = Math.max(0, ...gains);
  if (most === 0) return undefined;
  const candidates = cases.filter((_, i) => gains[i] === most);
  return candidates.reduce((cheapest, each) => (each.cost < cheapest.cost ? each : cheapest));
}
