/**
 * Sizes that a kernel accepts, near sizes that it may refuse: from sizes that it accepts, such as the author's, each size
 * moves towards the wanted one as far as the kernel's requirements let it.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import fc from "fast-check";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { Selection } from "./selection.js";
import { caseOf, declaredShapes, usualShapes } from "./shapes.js";
import { variantsFor } from "./variants.js";

type Sizes = TestCase["sizes"];

/** How many sizes are tried to find the first that a kernel accepts, before it counts as one that accepts none. */
const MOST_TRIED = 4000;

/** A case of this config that the kernel accepts, or why it refuses the one that is most likely to be right. */
export function acceptedCase(
  kernel: CompiledKernel,
  config: number,
  selection: Selection = { seed: 0 },
): { readonly at: TestCase } | { readonly refusal: string } {
  const known = accepted.get(kernel) ?? new Map<string, ReturnType<typeof acceptedCase>>();
  accepted.set(kernel, known);
  const key = cacheKey([config, selection]);
  let found = known.get(key);
  if (found === undefined) known.set(key, (found = findAccepted(kernel, config, selection)));
  return found;
}

/** Found once for each kernel, since every drawn case may need it. */
const accepted = new WeakMap<CompiledKernel, Map<string, ReturnType<typeof acceptedCase>>>();

function findAccepted(kernel: CompiledKernel, config: number, selection: Selection): ReturnType<typeof acceptedCase> {
  const { signature } = kernel;
  const variants = variantsFor(kernel, selection);
  const { sizes: wanted = {} } = selection;
  const shapes = [...declaredShapes(kernel), ...usualShapes(kernel), ...usualShapes(kernel, {})];
  const first = caseOf(
    kernel,
    { ...shapes[0]!, sizes: { ...shapes[0]!.sizes, ...wanted } },
    variants[0]!,
    "contiguous",
    config,
    0,
  );
  const candidates = function* (): Generator<TestCase> {
    for (const { sizes, given = {} } of shapes)
      for (const variant of variants)
        yield caseOf(kernel, { sizes: { ...sizes, ...wanted }, given }, variant, "contiguous", config, 0);
    const drawn = fc.record(
      Object.fromEntries(signature.sizes.map((name) => [name, fc.constantFrom(...steps(kernel, config))])),
    );
    for (const sizes of fc.sample(drawn, { seed: 1, numRuns: MOST_TRIED }))
      yield { ...first, sizes: { ...sizes, ...wanted } };
  };
  for (const at of candidates()) if (kernel.refusal(at) === undefined) return { at };
  return { refusal: kernel.refusal(first) ?? "" };
}

/** Sizes whose multiples a requirement may ask for: powers of two, and the numbers of the config and the author's shapes. */
function steps(kernel: CompiledKernel, config: number): readonly number[] {
  const given = [...kernel.shapes, ...(kernel.arguments ?? []), kernel.configs[config]?.values ?? {}];
  const numbers = given.flatMap((each) => Object.values(each)).filter((value): value is number => isSize(value));
  const powers = Array.from({ length: 11 }, (_, i) => 2 ** i);
  return [...new Set([...powers, 3, 5, 7, ...numbers])].sort((a, b) => a - b);
}

const isSize = (value: unknown): boolean => Number.isInteger(value) && Number(value) > 0;

/**
 * The case itself if it is right; else one that is, with the same dtypes, constexprs, layouts and sizes as far as the
 * kernel accepts them. `base` is accepted; `isRight` also asks for that.
 */
export function nearestAcceptedCase(
  kernel: CompiledKernel,
  at: TestCase,
  base: TestCase,
  isRight: (at: TestCase) => boolean,
): TestCase {
  if (isRight(at)) return at;
  const { config, seed, special, absent } = at;
  const own: TestCase = { ...base, config, seed, ...(special && { special }) };
  const mixed: readonly TestCase[] = [
    { ...at, sizes: base.sizes },
    { ...own, dtypes: at.dtypes, ...(at.layouts && { layouts: at.layouts }), ...(absent && { absent }) },
    { ...own, dtypes: at.dtypes },
  ];
  const start = mixed.find(isRight) ?? own;
  return moved(start, at.sizes, steps(kernel, config), isRight);
}

/** The case with its sizes moved towards the wanted ones. */
function moved(
  start: TestCase,
  wanted: Sizes,
  multiples: readonly number[],
  isRight: (at: TestCase) => boolean,
): TestCase {
  const trySizes = (at: TestCase, changed: Sizes): TestCase | undefined => {
    const next = { ...at, sizes: { ...at.sizes, ...changed } };
    return isRight(next) ? next : undefined;
  };
  let at = start;
  const names = Object.keys(wanted).filter((name) => wanted[name] !== 0);
  for (const name of names)
    at = firstOf(near(wanted[name]!, multiples), (size) => trySizes(at, { [name]: size })) ?? at;
  // Sizes that a requirement ties to each other move together: as equals, or in proportion.
  const still = names.filter((name) => at.sizes[name] === start.sizes[name] && start.sizes[name] !== wanted[name]);
  for (const name of still) {
    const equal = names.filter((other) => at.sizes[other] === at.sizes[name]);
    const together = near(wanted[name]!, multiples).map((size) => equal.map((other) => [other, size] as const));
    const scaled = [...new Set(near(wanted[name]! / at.sizes[name]!, [1]))].flatMap((by) =>
      groups(name, names).flatMap((group) => [scale(at, group, by), scale(at, group, 1 / by)]),
    );
    at = firstOf([...together, ...scaled], (sizes) => sizes && trySizes(at, Object.fromEntries(sizes))) ?? at;
  }
  return at;
}

/** All sizes, or this one with one other. */
function groups(name: string, names: readonly string[]): readonly (readonly string[])[] {
  return [names, ...names.filter((other) => other !== name).map((other) => [name, other])];
}

function scale(
  { sizes }: TestCase,
  names: readonly string[],
  by: number,
): readonly (readonly [string, number])[] | undefined {
  const entries = names.map((name) => [name, sizes[name]! * by] as const);
  return by !== 1 && entries.every(([, size]) => isSize(size)) ? entries : undefined;
}

/** The wanted size and multiples around it, the nearest first. */
function near(wanted: number, multiples: readonly number[]): readonly number[] {
  const found = multiples.flatMap((step) => {
    const below = Math.floor(wanted / step) * step;
    return [below, below + step];
  });
  const sizes = [...new Set([wanted, ...found])].filter(isSize);
  return sizes.sort((a, b) => Math.abs(a - wanted) - Math.abs(b - wanted));
}

function firstOf<From, To>(from: readonly From[], to: (each: From) => To | undefined): To | undefined {
  for (const each of from) {
    const found = to(each);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** An accepted case with smaller sizes, as small as is affordable if the kernel accepts such sizes. */
export function shrinkAccepted(
  kernel: CompiledKernel,
  from: TestCase,
  isAffordable: (at: TestCase) => boolean,
  isAccepted: (at: TestCase) => boolean = (at) => kernel.refusal(at) === undefined,
): TestCase {
  const multiples = steps(kernel, from.config);
  let at = from;
  while (!isAffordable(at)) {
    const largest = Object.keys(at.sizes).toSorted((x, y) => at.sizes[y]! - at.sizes[x]!);
    const smaller = firstOf(largest, (name) => {
      const next = moved(at, { [name]: Math.max(1, Math.floor(at.sizes[name]! / 4)) }, multiples, isAccepted);
      return sum(next) < sum(at) ? next : undefined;
    });
    if (!smaller) break;
    at = smaller;
  }
  return at;
}

const sum = ({ sizes }: TestCase): number => Object.values(sizes).reduce((total, size) => total + size, 0);
