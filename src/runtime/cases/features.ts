/**
 * What distinguishes test cases: how Triton specializes the kernel, and what few cases suffice to try. A
 * specialization depends on whether an integer argument is 1 or divisible by 16, on whether a pointer is 16-byte
 * aligned, and on the value of each constexpr (`specialize_impl` in Triton's `jit.py`).
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";

const ALIGNMENT = 16;

/**
 * A key that is equal for test cases that launch the same binaries. Strides are products of sizes, so the power of two
 * in a size decides whether 16 divides a stride.
 */
export function specializationKey(kernel: CompiledKernel, testCase: TestCase): string {
  const numbers = { ...kernel.sizes(testCase), ...integersOf(kernel, testCase) };
  const divisors = Object.entries(numbers).map(([name, value]) => [name, divisorClass(value)]);
  return cacheKey([
    testCase.config,
    testCase.dtypes,
    kernel.constexprs(testCase),
    testCase.layouts,
    testCase.absent,
    testCase.gpu,
    divisors,
  ]);
}

/** A number near `size` that Triton specializes like `pattern`. */
export function sameSpecialization(pattern: number, size: number): number {
  const divisor = divisorClass(pattern);
  if (divisor === ONE || pattern === 0) return pattern;
  const quotient = Math.max(1, Math.floor(size / divisor));
  if (divisor === ALIGNMENT) return divisor * quotient;
  const odd = quotient % 2 === 1 ? quotient : quotient + 1;
  return Math.max(divisor * odd, divisor === 1 ? 3 : 0);
}

const ONE = "1";

/** `"1"`, or the largest divisor that is a power of two, up to 16. */
function divisorClass(value: number): typeof ONE | number {
  if (value === 1) return ONE;
  let divisor = 1;
  while (divisor < ALIGNMENT && value % (2 * divisor) === 0) divisor *= 2;
  return divisor;
}

/**
 * The case with each size and each integer scalar in turn at 1, which Triton makes a constant, and at 16, of which it
 * knows the divisor. Leaves out what the kernel refuses.
 */
export function specializedCases(
  kernel: CompiledKernel,
  testCase: TestCase,
  fixed: readonly string[] = [],
): readonly TestCase[] {
  const { signature } = kernel;
  const integers = signature.scalars.filter(({ dtype }) => dtype.includes("int")).map(({ name }) => name);
  const isFree = (name: string): boolean => !fixed.includes(name);
  const { sizes, scalars = {} } = testCase;
  const candidates = [1, ALIGNMENT].flatMap((value): TestCase[] => [
    ...Object.keys(sizes)
      .filter(isFree)
      .map((name) => ({ ...testCase, sizes: { ...sizes, [name]: value } })),
    ...integers.filter(isFree).map((name) => ({ ...testCase, scalars: { ...scalars, [name]: value } })),
  ]);
  const byKey = new Map(candidates.map((each) => [specializationKey(kernel, each), each]));
  byKey.delete(specializationKey(kernel, testCase));
  return [...byKey.values()].filter((each) => kernel.refusal(each) === undefined);
}

function integersOf({ signature }: CompiledKernel, { scalars = {} }: TestCase): Record<string, number> {
  const integers = signature.scalars.flatMap(({ name, dtype }) => {
    const value = scalars[name];
    return dtype.includes("int") && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(integers);
}

// The features of test cases other than sizes and values, and an order that covers them early.

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
