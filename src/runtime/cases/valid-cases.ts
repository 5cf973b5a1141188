/**
 * Finds accepted sizes near sizes that the kernel rejects. Starting from accepted sizes, such as the declared ones,
 * each size moves towards its target as far as the kernel's requirements allow.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import fc from "fast-check";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import { type Selection, variantsFor } from "./selection.js";
import { caseOf, declaredShapes, usualShapes } from "./shapes.js";
type Sizes = TestCase["sizes"];

/** The number of random sizes to try before the kernel counts as accepting none. */
const MAX_TRIES = 4000;

/** Returns a test case of this config that the kernel accepts, or the reason why it rejects the first candidate. */
export function acceptedCase(
  kernel: CompiledKernel,
  config: number,
  selection: Selection = { seed: 0 },
): { readonly at: TestCase } | { readonly refusal: string } {
  const cache = acceptedCases.get(kernel) ?? new Map<string, ReturnType<typeof acceptedCase>>();
  acceptedCases.set(kernel, cache);
  const key = cacheKey([config, selection]);
  let result = cache.get(key);
  if (result === undefined) cache.set(key, (result = findAccepted(kernel, config, selection)));
  return result;
}

/** Cached for each kernel, since every drawn case may need it. */
const acceptedCases = new WeakMap<CompiledKernel, Map<string, ReturnType<typeof acceptedCase>>>();

function findAccepted(kernel: CompiledKernel, config: number, selection: Selection): ReturnType<typeof acceptedCase> {
  const { signature } = kernel;
  const variants = variantsFor(kernel, selection);
  const { sizes: target = {} } = selection;
  const shapes = [...declaredShapes(kernel), ...usualShapes(kernel), ...usualShapes(kernel, {})];
  let first: { readonly testCase: TestCase; readonly refusal: string } | undefined;
  for (const { sizes, args = {} } of shapes)
    for (const variant of variants) {
      const testCase = caseOf(kernel, { sizes: { ...sizes, ...target }, args }, variant, "contiguous", config, 0);
      const refusal = kernel.refusal(testCase);
      if (refusal === undefined) return { at: testCase };
      first ??= { testCase, refusal };
    }
  if (!first) return { refusal: "" };
  const sizesArbitrary = fc.record(
    Object.fromEntries(signature.sizes.map((name) => [name, fc.constantFrom(...candidateFactors(kernel, config))])),
  );
  for (const sizes of fc.sample(sizesArbitrary, { seed: 1, numRuns: MAX_TRIES })) {
    const testCase: TestCase = { ...first.testCase, sizes: { ...sizes, ...target } };
    if (kernel.refusal(testCase) === undefined) return { at: testCase };
  }
  return { refusal: first.refusal };
}

/** Factors that a requirement may use: powers of two, and the numbers of the config and the declared shapes. */
function candidateFactors(kernel: CompiledKernel, config: number): readonly number[] {
  const records = [...kernel.shapes, ...(kernel.arguments ?? []), kernel.configs[config]?.values ?? {}];
  const numbers = records.flatMap((each) => Object.values(each)).filter((value): value is number => isSize(value));
  const powers = Array.from({ length: 11 }, (_, i) => 2 ** i);
  return [...new Set([...powers, 3, 5, 7, ...numbers])].sort((a, b) => a - b);
}

const isSize = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;

/**
 * Returns the test case if it is valid. Otherwise returns a valid one that keeps as many of its dtypes, constexprs,
 * layouts and sizes as the kernel accepts. `base` must be accepted; `isValid` must imply acceptance.
 */
export function nearestAcceptedCase(
  kernel: CompiledKernel,
  testCase: TestCase,
  base: TestCase,
  isValid: (testCase: TestCase) => boolean,
): TestCase {
  if (isValid(testCase)) return testCase;
  const { config, seed, special, absent } = testCase;
  const fallback: TestCase = { ...base, config, seed, ...(special && { special }) };
  const mixtures: readonly TestCase[] = [
    { ...testCase, sizes: base.sizes },
    {
      ...fallback,
      dtypes: testCase.dtypes,
      ...(testCase.layouts && { layouts: testCase.layouts }),
      ...(absent && { absent }),
    },
    { ...fallback, dtypes: testCase.dtypes },
  ];
  const start = mixtures.find(isValid) ?? fallback;
  return moveTowards(start, testCase.sizes, candidateFactors(kernel, config), isValid);
}

/** Moves the sizes of a test case towards the target. */
function moveTowards(
  start: TestCase,
  target: Sizes,
  factors: readonly number[],
  isValid: (testCase: TestCase) => boolean,
): TestCase {
  const trySizes = (testCase: TestCase, changed: Sizes): TestCase | undefined => {
    const next = { ...testCase, sizes: { ...testCase.sizes, ...changed } };
    return isValid(next) ? next : undefined;
  };
  let current = start;
  const targets = Object.entries(target).filter(([, targetSize]) => targetSize !== 0);
  const names = targets.map(([name]) => name);
  for (const [name, targetSize] of targets)
    current = firstOf(nearbySizes(targetSize, factors), (size) => trySizes(current, { [name]: size })) ?? current;
  // Sizes that a requirement relates change together: equal sizes stay equal, others stay proportional.
  const unchanged = targets.filter(
    ([name, targetSize]) => current.sizes[name] === start.sizes[name] && start.sizes[name] !== targetSize,
  );
  for (const [name, targetSize] of unchanged) {
    const equal = names.filter((other) => current.sizes[other] === current.sizes[name]);
    const equalSizes = nearbySizes(targetSize, factors).map((size) => equal.map((other) => [other, size] as const));
    const ratio = targetSize / (current.sizes[name] ?? Number.NaN);
    const scaled = [...new Set(nearbySizes(ratio, [1]))].flatMap((factor) =>
      groups(name, names).flatMap((group) => [scale(current, group, factor), scale(current, group, 1 / factor)]),
    );
    current =
      firstOf([...equalSizes, ...scaled], (sizes) => sizes && trySizes(current, Object.fromEntries(sizes))) ?? current;
  }
  return current;
}

/** All names, or this one paired with each other one. */
function groups(name: string, names: readonly string[]): readonly (readonly string[])[] {
  return [names, ...names.filter((other) => other !== name).map((other) => [name, other])];
}

function scale(
  { sizes }: TestCase,
  names: readonly string[],
  factor: number,
): readonly (readonly [string, number])[] | undefined {
  const entries = names.map((name) => [name, (sizes[name] ?? Number.NaN) * factor] as const);
  return factor !== 1 && entries.every(([, size]) => isSize(size)) ? entries : undefined;
}

/** The target and the multiples around it, nearest first. */
function nearbySizes(target: number, factors: readonly number[]): readonly number[] {
  const multiples = factors.flatMap((step) => {
    const below = Math.floor(target / step) * step;
    return [below, below + step];
  });
  const sizes = [...new Set([target, ...multiples])].filter(isSize);
  return sizes.sort((a, b) => Math.abs(a - target) - Math.abs(b - target));
}

function firstOf<Item, Result>(
  items: readonly Item[],
  transform: (each: Item) => Result | undefined,
): Result | undefined {
  for (const item of items) {
    const result = transform(item);
    if (result !== undefined) return result;
  }
  return undefined;
}

/** Reduces the sizes of an accepted test case until it is affordable, or as far as the kernel accepts. */
export function shrinkAccepted(
  kernel: CompiledKernel,
  start: TestCase,
  isAffordable: (testCase: TestCase) => boolean,
  isAccepted: (testCase: TestCase) => boolean = (testCase) => kernel.refusal(testCase) === undefined,
): TestCase {
  const factors = candidateFactors(kernel, start.config);
  let current = start;
  while (!isAffordable(current)) {
    const largest = Object.entries(current.sizes).toSorted(([, x], [, y]) => y - x);
    const smaller = firstOf(largest, ([name, size]) => {
      const next = moveTowards(current, { [name]: Math.max(1, Math.floor(size / 4)) }, factors, isAccepted);
      return sumOfSizes(next) < sumOfSizes(current) ? next : undefined;
    });
    if (!smaller) break;
    current = smaller;
  }
  return current;
}

const sumOfSizes = ({ sizes }: TestCase): number => Object.values(sizes).reduce((total, size) => total + size, 0);
