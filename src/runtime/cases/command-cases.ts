/**
 * The test cases to compile, to draw and to measure. To compile are every config with every dtype, flag, choice and
 * declared number, and each input layout.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import {
  type TestCase,
  type CompiledKernel,
  type Layout,
  type Config,
  formatSizes,
} from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { withOptionalVariants, costOf, largestNumel } from "./cases.js";
import { configsOf, type Selection, inTurn, type Variant, variantsFor } from "./selection.js";
import {
  caseOf,
  constexprDims,
  declaredShapes,
  givenShape,
  type Shape,
  usualShapes,
  acceptedByConfig,
} from "./shapes.js";
import { UsageError } from "../system/errors.js";
import { noLaunch } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic } from "../../diagnostics/diagnostic.js";

/**
 * Returns the test cases to compile, each with the first sizes that the kernel accepts. Declared sizes are tried before
 * generated ones. Dims that are constexprs take every declared value.
 */
export function compileCases(
  kernel: CompiledKernel,
  selection: Selection,
  layouts: readonly Layout[] = ["contiguous"],
): { readonly cases: readonly TestCase[]; readonly skipped: readonly string[] } {
  const { signature } = kernel;
  const cases: TestCase[] = [];
  const skipped = new Set<string>();
  for (const config of configsOf(kernel, selection)) {
    for (const variant of variantsFor(kernel, selection)) {
      for (const shapes of shapesByDims(kernel, selection)) {
        for (const layout of layouts) {
          const candidates = sortByAgreement(shapes, variant).map(({ sizes, args = {} }) =>
            // The variant overrides the constexprs of the shape, so that each value is compiled.
            caseOf(
              kernel,
              { sizes, args: { ...args, ...variant.constexprs } },
              variant,
              layout,
              config,
              selection.seed,
            ),
          );
          const [first] = candidates;
          const testCase =
            candidates.find((each) => kernel.refusal(each) === undefined) ??
            (first && nearbyCase(kernel, first, selection));
          if (!testCase) skipped.add(`config ${config}: the kernel refuses it (${first && kernel.refusal(first)})`);
          else if (testCase.layouts && Object.keys(testCase.layouts).length === 0)
            skipped.add(`${layout}: no input can have this layout`);
          else cases.push(...withOptionalVariants([...signature.tensors, ...signature.pointers], testCase, true, 0));
        }
      }
    }
  }
  return { cases, skipped: [...skipped] };
}

/** The shapes to try: one list for each declared value of the dims that are constexprs. */
function shapesByDims(kernel: CompiledKernel, selection: Selection): readonly (readonly Shape[])[] {
  if (selection.sizes) return [[givenShape(selection, kernel)]];
  const declared = declaredShapes(kernel);
  const names = constexprDims(kernel);
  const dimsOf = ({ sizes }: Shape) =>
    Object.fromEntries(
      names.flatMap((name) => {
        const size = sizes[name];
        return size === undefined ? [] : [[name, size] as const];
      }),
    );
  const keyOf = (shape: Shape) => cacheKey(dimsOf(shape));
  const dimsByKey = new Map(declared.map((shape) => [keyOf(shape), dimsOf(shape)]));
  if (dimsByKey.size === 0) return [usualShapes(kernel)];
  return [...dimsByKey].map(([key, dims]) => [
    ...declared.filter((shape) => keyOf(shape) === key),
    ...usualShapes(kernel, dims),
  ]);
}

/** Sorts shapes first whose declared constexprs agree with the variant. */
function sortByAgreement(shapes: readonly Shape[], { constexprs }: Variant): readonly Shape[] {
  const conflictCount = ({ args = {} }: Shape): number =>
    Object.entries(constexprs).filter(([name, value]) => name in args && args[name] !== value).length;
  return shapes.toSorted((a, b) => conflictCount(a) - conflictCount(b));
}

/** A test case with accepted sizes near the rejected ones. Fields that affect compilation must stay the same. */
function nearbyCase(kernel: CompiledKernel, testCase: TestCase, { sizes }: Selection): TestCase | undefined {
  const base = sizes ? undefined : acceptedCase(kernel, testCase.config);
  if (!base || "refusal" in base) return undefined;
  const nearest = nearestAcceptedCase(kernel, testCase, base.at, (each) => kernel.refusal(each) === undefined);
  const compileKey = ({ dtypes, constexprs, layouts }: TestCase): string => cacheKey([dtypes, constexprs, layouts]);
  return compileKey(nearest) === compileKey(testCase) ? nearest : undefined;
}

// A test case small enough for a picture, but with several programs and masked edges.

/** Limits of a case that is evaluated interactively. */
const MAX_ELEMENTS = 2 ** 14;
const MAX_LANES = 2 ** 22;
const OP_COST = 2 ** 8;

/** Sizes that show masked edges: no block divides them. They are distinct, so that axes are distinguishable. */
const PREFERRED_SIZES = [40, 56, 24, 5];

/**
 * Returns a small test case, or the reason why the kernel rejects it. Keeps the sizes of the selection. Uses the config
 * with the smallest blocks if the selection has none.
 */
export function smallCase(
  kernel: CompiledKernel,
  selection: Selection,
): { readonly at: TestCase } | { readonly refusal: string } {
  const config = selection.config ?? smallestConfig(kernel.configs);
  const base = acceptedCase(kernel, config, selection);
  if ("refusal" in base) return base;
  const start: TestCase = {
    ...base.at,
    seed: selection.seed,
    ...(selection.scalars && { scalars: { ...base.at.scalars, ...selection.scalars } }),
  };
  if (selection.sizes) return { at: start };
  const isValid = (testCase: TestCase): boolean =>
    kernel.refusal(testCase) === undefined &&
    largestNumel(kernel, testCase) <= MAX_ELEMENTS &&
    costOf(kernel, testCase, { op: OP_COST }) <= MAX_LANES;
  const smallestCase = shrinkAccepted(kernel, start, isValid);
  return {
    at: nearestAcceptedCase(kernel, { ...start, sizes: preferredSizes(kernel, config) }, smallestCase, isValid),
  };
}

function preferredSizes({ signature, configs }: CompiledKernel, config: number): Record<string, number> {
  const { sizes } = signature;
  const blocks = numbersOf(configs[config]);
  const [first, ...others] = sizes;
  if (first !== undefined && others.length === 0) return { [first]: Math.floor(2.5 * Math.max(16, ...blocks)) };
  return Object.fromEntries(sizes.map((name, i) => [name, inTurn(PREFERRED_SIZES, i)]));
}

/** The config with the smallest blocks. */
function smallestConfig(configs: readonly Config[]): number {
  const product = (config: Config): number => numbersOf(config).reduce((all, value) => all * Math.max(1, value), 1);
  const [smallest] = [...configs.entries()].sort(([i, a], [j, b]) => product(a) - product(b) || i - j);
  return smallest?.[0] ?? 0;
}

function numbersOf(config: Config | undefined): readonly number[] {
  return Object.values(config?.values ?? {}).filter((value) => typeof value === "number");
}

// Test cases whose tensors satisfy the requirements of TMA: contiguous rows whose length is a multiple of 16 bytes.

/** Elements in 16 bytes of the narrowest dtype of which a warp-specialized kernel loads blocks. */
const ELEMENTS_PER_ROW_UNIT = 8;

/** Rounds sizes up to multiples and drops layouts. Returns the test case unchanged if the kernel rejects the result. */
export function tmaCompatibleCase(kernel: CompiledKernel, testCase: TestCase): TestCase {
  const { layouts: _, ...others } = testCase;
  const sizes = Object.entries(testCase.sizes).map(
    ([name, size]) => [name, Math.ceil(size / ELEMENTS_PER_ROW_UNIT) * ELEMENTS_PER_ROW_UNIT] as const,
  );
  const compatible = { ...others, sizes: Object.fromEntries(sizes) };
  return kernel.refusal(compatible) === undefined ? compatible : testCase;
}

// The test cases to measure: declared shapes, shapes of the command line, or a sweep, each with every dtype and flag.

/** A range of values for one size or for several sizes together: `M,N,K=256..8192:x2`. */
export interface Sweep {
  readonly names: readonly string[];
  readonly values: readonly number[];
}

export interface BenchmarkCase {
  readonly selection: Selection;
  /** Replaces the declared shapes. */
  readonly shapes?: readonly Pick<Selection, "sizes" | "scalars" | "constexprs">[];
  readonly sweep?: Sweep;
}

/** The limit of points. A longer sweep is probably a mistake. */
const MAX_POINTS = 200;

/** Parses `256..8192:x2` or `256..4096:+256`; both bounds are inclusive. */
export function parseSweep(text: string): Sweep {
  const match = /^([A-Za-z_]\w*(?:,[A-Za-z_]\w*)*)=(\d+)\.\.(\d+):([x+])(\d+)$/.exec(text.replaceAll(" ", ""));
  if (!match) throw new UsageError(`--sweep: ${text} is not a sweep; write M=256..8192:x2, M=256..4096:+256 or M,N=…`);
  const [, names = "", from, to, operator, by] = match;
  const [low, high, step] = [Number(from), Number(to), Number(by)];
  if (low < 1 || high < low) throw new UsageError(`--sweep: ${from}..${to} is empty; write the smaller size first`);
  if (step < (operator === "x" ? 2 : 1))
    throw new UsageError(`--sweep: ${operator}${by} never reaches the end; write x2 or more, or +1 or more`);
  const values: number[] = [];
  for (let value = low; value <= high; value = operator === "x" ? value * step : value + step) values.push(value);
  if (values.length > MAX_POINTS)
    throw new UsageError(`--sweep: ${text} has ${values.length} points; the most is ${MAX_POINTS}, use a larger step`);
  return { names: names.split(","), values };
}

/** Returns the test cases, each with a config that accepts it, and messages about cases that no config accepts. */
export function measuredCases(
  kernel: CompiledKernel,
  { selection, shapes, sweep }: BenchmarkCase,
): { readonly cases: readonly TestCase[]; readonly skipped: readonly string[] } {
  const skipped = new Set<string>();
  const cases = new Map<string, TestCase>();
  const configs = configsOf(kernel, selection);
  for (const { sizes, args } of shapesToMeasure(kernel, shapes, sweep)) {
    for (const variant of variantsFor(kernel, selection)) {
      const shape = { label: "measured", sizes, layouts: [], ...(args && { args }) };
      const { accepted, refusal } = acceptedByConfig(kernel, shape, variant, configs, selection.seed);
      const [first] = accepted;
      if (!first) skipped.add(`${formatSizes(sizes)}: the kernel refuses it (${refusal})`);
      // Variants that differ only in values that the shape fixes are equal.
      else cases.set(cacheKey({ ...first, config: 0 }), first);
    }
  }
  return { cases: [...cases.values()], skipped: [...skipped] };
}

interface MeasuredShape {
  readonly sizes: Readonly<Record<string, number>>;
  readonly args?: Readonly<Record<string, number | boolean | string>>;
}

function shapesToMeasure(
  kernel: CompiledKernel,
  shapes: BenchmarkCase["shapes"],
  sweep: Sweep | undefined,
): MeasuredShape[] {
  const { name } = kernel.signature;
  const declared = kernel.shapes.map((sizes, i): MeasuredShape => ({ sizes, args: kernel.arguments?.[i] ?? {} }));
  const base = shapes
    ? shapes.map(({ sizes = {}, scalars, constexprs }): MeasuredShape => ({
        sizes,
        args: { ...scalars, ...constexprs },
      }))
    : declared;
  if (sweep) {
    const names = kernel.signature.sizes;
    const unknown = sweep.names.find((axis) => !names.includes(axis));
    if (unknown) throw new UsageError(`--sweep: there is no size ${unknown}; the sizes are ${names.join(", ")}`);
    const first = base[0] ?? { sizes: {} };
    const missing = names.filter((axis) => !sweep.names.includes(axis) && !(axis in first.sizes));
    if (missing.length > 0)
      throw new UsageError(`--sweep: ${missing.join(", ")} missing; sweep them too, or give --shapes`);
    return sweep.values.map((value) => ({
      ...first,
      sizes: { ...first.sizes, ...Object.fromEntries(sweep.names.map((each) => [each, value])) },
    }));
  }
  if (base.length === 0)
    throw new UsageError(`${name} has no shapes to measure; give --shapes or --sweep, or list shapes in its spec`);
  return base;
}

// Sizes that a kernel or its reference refuses, and the requirement that the kernel lacks if only its reference does.
// A bound or a divisor of one size is found by asking the reference at other sizes.

/** Divisors that sizes usually need. */
const DIVISORS = [2, 3, 4, 8, 16, 32, 64, 128, 256] as const;

/** The reference of a larger case takes too long to be asked many times. */
const MAX_NUMEL = 2 ** 16;

/** A size up to which a bound is sought, if no declared shape has a larger one. */
const LARGEST = 256;

/**
 * A `requires` under which the reference takes the sizes around those of the case, where it refuses them now. Undefined
 * if no condition on a single size does.
 */
export function missingRequirement(kernel: CompiledKernel, testCase: TestCase): string | undefined {
  const isTaken = (sizes: Readonly<Record<string, number>>): boolean =>
    kernel.referenceRefusal?.({ ...testCase, sizes }) === undefined;
  if (largestNumel(kernel, testCase) > MAX_NUMEL) return undefined;
  const { sizes } = testCase;
  for (const [name, size] of Object.entries(sizes)) {
    const at = (value: number, others = sizes): boolean => isTaken({ ...others, [name]: value });
    const divisor = DIVISORS.find((each) => size % each !== 0 && isDivisor(each, size, at));
    if (divisor !== undefined) return `({ ${name} }) => [${name}.mod(${divisor}).eq(0)]`;
    const bound = boundOf(size, Math.max(LARGEST, ...kernel.shapes.map((shape) => shape[name] ?? 0)), at);
    if (!bound) continue;
    const [method, value] = bound;
    const other = Object.keys(sizes).find((key) => key !== name && isSameBound(key, name, bound, sizes, isTaken));
    return other === undefined
      ? `({ ${name} }) => [${name}.${method}(${value})]`
      : `({ ${name}, ${other} }) => [${name}.${method}(${other})]`;
  }
  return undefined;
}

/** True if the multiples of a number around a size are taken, and what lies beside them is not. */
function isDivisor(divisor: number, size: number, at: (value: number) => boolean): boolean {
  const below = Math.floor(size / divisor) * divisor;
  const multiples = [below, below + divisor, below + 3 * divisor].filter((each) => each > 0);
  return multiples.every((each) => at(each) && !at(each + 1) && !at(each + divisor - 1));
}

type Bound = readonly [method: "ge" | "le", value: number];

/** The nearest size from which on, or up to which, all are taken. */
function boundOf(size: number, largest: number, at: (value: number) => boolean): Bound | undefined {
  const search = (from: number, to: number): number => {
    let [refused, taken] = [from, to];
    while (Math.abs(taken - refused) > 1) {
      const middle = Math.trunc((refused + taken) / 2);
      if (at(middle)) taken = middle;
      else refused = middle;
    }
    return taken;
  };
  const isClear = (value: number, step: 1 | -1): boolean =>
    [0, 1, 2, 3, 5].every((distance) => value + step * distance < 1 || at(value + step * distance)) &&
    !at(value - step);
  if (size < largest && at(largest)) {
    const value = search(size, largest);
    return isClear(value, 1) ? ["ge", value] : undefined;
  }
  if (size <= 1 || !at(1)) return undefined;
  const value = search(size, 1);
  return isClear(value, -1) ? ["le", value] : undefined;
}

/** True if a bound is another size: it moves with it. */
function isSameBound(
  other: string,
  name: string,
  [method, value]: Bound,
  sizes: Readonly<Record<string, number>>,
  isTaken: (sizes: Readonly<Record<string, number>>) => boolean,
): boolean {
  const step = method === "ge" ? -1 : 1;
  return [value, value + 4, value + 9].every(
    (size) =>
      (sizes[other] === value || size !== value) &&
      isTaken({ ...sizes, [other]: size, [name]: size }) &&
      !isTaken({ ...sizes, [other]: size, [name]: size + step }),
  );
}

// Declared shapes that a kernel refuses: nothing would verify or measure them.

/** The largest number of elements of a case whose reference `check` evaluates. */
const MAX_REFUSED_NUMEL = 2 ** 14;

/** An error for each declared shape that no config takes, with the first config's reason, or that the reference refuses. */
export function refusedShapes(kernel: CompiledKernel): readonly Diagnostic[] {
  const [variant] = variantsFor(kernel, { seed: 0 });
  if (!variant) return [];
  return declaredShapes(kernel).flatMap((shape) => {
    const cases = kernel.configs.map((_, config) => caseOf(kernel, shape, variant, "contiguous", config, 0));
    const accepted = cases.find((each) => kernel.refusal(each) === undefined);
    const [first] = cases;
    if (accepted)
      return largestNumel(kernel, accepted) <= MAX_REFUSED_NUMEL ? (kernel.referenceRefusal?.(accepted) ?? []) : [];
    const refusal = first && kernel.refusal(first);
    if (refusal === undefined) return [];
    const message = noLaunch.declared(kernel.signature.name, formatSizes(shape.sizes), refusal);
    return [errorDiagnostic(message, kernel.at)];
  });
}
