/** The features of test cases other than sizes and values, and an order that covers them early. */
import type { CompiledKernel, TestCase } from "../../compiled/compiled-kernel.js";

/** `x transposed`, `T=bfloat16`, `config 3`, `without bias`, `N=0`: what few cases suffice to try. */
export function featuresOf({ configs }: CompiledKernel, testCase: TestCase): readonly string[] {
  const { sizes, dtypes, constexprs = {}, layouts = {}, absent = [], special = [], config } = testCase;
  const flags = Object.entries(constexprs).filter(([, value]) => typeof value !== "number");
  const limits = Object.entries(sizes).filter(([, size]) => size < 2);
  // The strides of a single element decide nothing.
  const placed = limits.length > 0 ? [] : Object.entries(layouts).filter(([, layout]) => layout !== "contiguous");
  return [
    ...[...Object.entries(dtypes), ...flags, ...limits].map(([name, value]) => `${name}=${value}`),
    ...placed.map(([name, layout]) => `${name} ${String(layout)}`),
    ...absent.map((name) => `no ${name}`),
    ...special.map((kind) => (kind === "rows" || kind === "columns" ? `special ${kind}` : `${kind} among the inputs`)),
    ...(configs.length > 1 ? [`config ${config}`] : []),
  ];
}

/**
 * Puts cases first that together have every feature: always one with most features that are new, and of those the
 * cheapest. The other cases keep their order.
 */
export function breadthFirst(
  kernel: CompiledKernel,
  cases: readonly TestCase[],
  cost: (testCase: TestCase) => number,
  earlier: readonly TestCase[],
): readonly TestCase[] {
  const seen = new Set(earlier.flatMap((testCase) => featuresOf(kernel, testCase)));
  const pending = cases.map((testCase) => ({ testCase, features: featuresOf(kernel, testCase), cost: cost(testCase) }));
  const chosen: TestCase[] = [];
  for (;;) {
    const gains = pending.map(({ features }) => features.filter((feature) => !seen.has(feature)).length);
    const most = Math.max(0, ...gains);
    if (most === 0) return [...chosen, ...pending.map(({ testCase }) => testCase)];
    const candidates = pending.filter((_, i) => gains[i] === most);
    const best = candidates.reduce((cheapest, each) => (each.cost < cheapest.cost ? each : cheapest));
    pending.splice(pending.indexOf(best), 1);
    chosen.push(best.testCase);
    for (const feature of best.features) seen.add(feature);
  }
}
