/** fast-check arbitraries for test cases of a kernel, derived from its signature. */
import fc from "fast-check";
import { type Architecture, type DeviceProperties, H200 } from "../../compiled/gpus.js";
import {
  type TestCase,
  type CompiledKernel,
  type ConstexprSignature,
  type Layout,
  passedConstexprs,
  type Signature,
  type SpecialValue,
  boundarySizes,
} from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { largestNumel } from "./cases.js";
import { configsOf, layoutsOf, tensorsWithLayout, sharedLayouts } from "./selection.js";
import { roundUpToAllowed, clampToRanges } from "./shapes.js";
import { UsageError } from "../system/errors.js";
import { sameSpecialization, specializationKey } from "./features.js";

export interface CaseOptions {
  /** The largest value of a size. Default: 150. */
  readonly maxSize?: number;
  /** The largest product of all sizes; it bounds the time of a case. Default: 2^20. */
  readonly maxWork?: number;
  /** The most lanes that a case computes, as estimated from its grid and its loops. Default: no limit. */
  readonly maxLanes?: number;
  /** The largest number of elements of a tensor. Default: 2^24. */
  readonly maxElements?: number;
  /** Sizes that every case has. */
  readonly sizes?: Readonly<Record<string, number>>;
  /** Scalars and constexprs that every case has. */
  readonly scalars?: Readonly<Record<string, number>>;
  readonly constexprs?: Readonly<Record<string, number | boolean | string>>;
  /** Members of dtype variables that every case has. */
  readonly dtypes?: Readonly<Record<string, string>>;
  /** The config that every case has. */
  readonly config?: number;
  /**
   * A GPU, such as `["cuda", 90]`. If configs depend on the GPU, only those for this GPU are drawn. Default: all
   * configs.
   */
  readonly on?: Architecture | null | undefined;
  /**
   * Layouts of tensors, including outputs, if the wrapper supports them; otherwise contiguous. Default: all layouts.
   */
  readonly layouts?: readonly Layout[];
  /** Also draws 0 for sizes that every output has. Default: false. */
  readonly empty?: boolean;
  /** Special values that some cases have among their floats. Default: none. */
  readonly special?: readonly SpecialValue[];
  /** `most` limits how often Triton compiles each config; `seed` chooses the specializations. Default: no limit. */
  readonly specializations?: { readonly most: number; readonly seed: number };
}

type Constant = number | boolean | string;

/**
 * An arbitrary for test cases of a kernel. Sizes are block sizes, their multiples and neighbors, ones, primes and
 * uniform values. Dtypes and configs are drawn from all that the kernel has. Inputs and outputs passed by the caller
 * may be transposed, sliced, expanded or offset in a buffer. Optional tensors may be absent. Shrinks to small sizes.
 */
export function cases(kernel: CompiledKernel, options: CaseOptions = {}): fc.Arbitrary<TestCase> {
  checkOptions(kernel, options);
  const { specializations, ...free } = options;
  return specializations ? specializedCases(kernel, free, specializations) : freeCases(kernel, free);
}

const CASE_OPTIONS: Readonly<Record<keyof CaseOptions, true>> = {
  maxSize: true,
  maxWork: true,
  maxLanes: true,
  maxElements: true,
  sizes: true,
  scalars: true,
  constexprs: true,
  dtypes: true,
  config: true,
  on: true,
  layouts: true,
  empty: true,
  special: true,
  specializations: true,
};

function checkOptions(kernel: CompiledKernel, options: CaseOptions): void {
  const reject = (problem: string): never => {
    throw new UsageError(`cases: ${problem}`);
  };
  // A kernel that is not built is a function. Reading another of its properties throws an error that explains this.
  if (typeof kernel !== "object" || !kernel?.signature?.sizes)
    reject("the first argument is not a built kernel; pass build(…)'s result");
  const checkNames = (kind: string, values: object | undefined, validNames: readonly string[]): void => {
    for (const name of Object.keys(values ?? {}))
      if (!validNames.includes(name))
        reject(`there is no ${kind} ${name}; choose from ${validNames.join(", ") || "none"}`);
  };
  const { configs, signature } = kernel;
  const { maxSize = 1, maxWork = 1, maxLanes = 1, maxElements = 1, config = 0, dtypes = {}, sizes } = options;
  checkNames("option", options, Object.keys(CASE_OPTIONS));
  checkNames("size", sizes, signature.sizes);
  const names = (params: readonly { readonly name: string }[]): readonly string[] => params.map(({ name }) => name);
  checkNames("scalar", options.scalars, names(signature.scalars));
  checkNames("constexpr", options.constexprs, names(signature.constexprs.filter(({ from }) => from === "argument")));
  checkNames("dtype variable", dtypes, Object.keys(signature.dtypes));
  for (const [name, dtype] of Object.entries(dtypes))
    checkNames(`${name} =`, { [dtype]: true }, signature.dtypes[name] ?? []);
  for (const [name, value] of Object.entries({ maxSize, maxWork, maxLanes, maxElements }))
    if (!Number.isInteger(value) || value < 1) reject(`${name} is ${value}; it must be an integer from 1 up`);
  if (!configs[config]) reject(`there is no config ${config}; the kernel has configs 0 to ${configs.length - 1}`);
}

/**
 * The test case in the form that the arbitrary draws, with all fields explicit, so that fast-check can shrink it.
 * `special` is explicit only if special values are drawn.
 */
function toDrawnForm(
  { signature }: CompiledKernel,
  testCase: TestCase,
  specialValues: readonly SpecialValue[],
): TestCase {
  const layouts = Object.fromEntries(
    tensorsWithLayout(signature).map(({ name }) => [name, testCase.layouts?.[name] ?? "contiguous"]),
  );
  const hasOptional = signature.tensors.some(({ optional }) => optional);
  const { scalars = {}, constexprs = {}, absent = [], special = [], ...others } = testCase;
  const { multiProcessorCount } = { ...H200, ...testCase.gpu };
  const gpu = signature.gpu && { gpu: { multiProcessorCount } };
  const fields = { ...others, layouts, scalars, constexprs, ...gpu };
  return { ...fields, ...(hasOptional && { absent }), ...(specialValues.length > 0 && { special }) };
}

/** The configs that the kernel accepts for at least one set of sizes. */
export function drawnConfigs(kernel: CompiledKernel, { config, on, sizes }: CaseOptions): readonly number[] {
  const configs = configsOf(kernel, { config, on });
  return configs.filter((each) => "at" in baseOf(kernel, each, sizes));
}

const baseOf = (kernel: CompiledKernel, config: number, sizes: CaseOptions["sizes"]): ReturnType<typeof acceptedCase> =>
  acceptedCase(kernel, config, { seed: 0, ...(sizes && { sizes }) });

/** A message that the kernel accepts no sizes, with the remedy. */
function noSizes({ signature }: CompiledKernel, reason: string): string {
  return `${signature.name}: no sizes were found that the kernel accepts (${reason}); list some of them as shapes in its spec`;
}

/** Test cases with independent fields. With `isPatterned`, sizes are often all 1 or all multiples of 16. */
function freeCases(kernel: CompiledKernel, options: CaseOptions, isPatterned = false): fc.Arbitrary<TestCase> {
  const { signature } = kernel;
  const [{ special = [], layouts }, configs] = [options, drawnConfigs(kernel, options)];
  if (configs.length === 0) {
    const base = baseOf(kernel, options.config ?? 0, options.sizes);
    throw new UsageError(noSizes(kernel, "refusal" in base ? base.refusal : ""));
  }
  const optional = signature.tensors.filter((tensor) => tensor.optional).map(({ name }) => name);
  const drawnConstexprs = passedConstexprs(signature);
  const membersOf = (name: string, members: readonly string[]) =>
    options.dtypes?.[name] ? [options.dtypes[name]] : members;
  const declaredArbitrary = <T extends Constant>(name: string) => declaredValueArbitrary<T>(kernel, options, name);
  const fieldsArbitrary = (mayBeEmpty: boolean): fc.Arbitrary<TestCase> =>
    fc.record({
      sizes: sizesArbitrary(kernel, { ...options, empty: mayBeEmpty }, isPatterned),
      dtypes: recordOf(Object.entries(signature.dtypes), ([name, members]) => [
        name,
        fc.constantFrom(...membersOf(name, members)),
      ]),
      layouts: layoutsArbitrary(signature, layouts),
      // Shrinks to the first config.
      config: fc.nat({ max: configs.length - 1 }).map(
        (index) => configs[index]!,
        (config) => configs.indexOf(config as number),
      ),
      // Seeds do not shrink: none is simpler than another.
      seed: fc.noShrink(fc.nat({ max: 2 ** 31 - 1 })),
      scalars: recordOf(signature.scalars, ({ name, dtype }) => [
        name,
        declaredArbitrary<number>(name) ??
          (dtype.includes("int") ? fc.integer({ min: 0, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true })),
      ]),
      constexprs: recordOf(drawnConstexprs, (each) => [
        each.name,
        declaredArbitrary(each.name) ?? constexprArbitrary(each),
      ]),
      ...(signature.gpu && { gpu: gpuArbitrary }),
      ...(optional.length > 0 && { absent: fc.subarray(optional) }),
      ...(special.length > 0 && { special: specialArbitrary(special) }),
    });
  const isFree = (name: string): boolean => declaredArbitrary(name) === undefined;
  // Integers are clamped to their ranges. The inverse mapping completes a repaired case, which may omit fields.
  const caseArbitrary = (mayBeEmpty: boolean): fc.Arbitrary<TestCase> =>
    fieldsArbitrary(mayBeEmpty).map(
      (testCase) => clampToRanges(kernel, testCase, isFree),
      (testCase) => toDrawnForm(kernel, testCase as TestCase, special),
    );
  const isValid = (testCase: TestCase): boolean =>
    isAffordable(kernel, testCase, options) && kernel.refusal(testCase) === undefined;
  // With many sizes, a small product is rare. Filtering could run forever and would favor ones and empty tensors.
  const maxTries = isPatterned ? 1 : 5;
  // Only the first try may be empty. Kernels accept empty cases most often, so retries would return too many.
  const [initial, retry] = [caseArbitrary(options.empty === true), caseArbitrary(false)];
  return new RetryingArbitrary<TestCase>(
    initial,
    retry,
    isValid,
    (testCase) => repairCase(kernel, testCase, options),
    maxTries,
  );
}

/** Declared values and defaults are meaningful, random ones may not be. A decay, for example, is never drawn. */
function declaredValueArbitrary<T extends Constant>(
  kernel: CompiledKernel,
  { scalars, constexprs }: CaseOptions,
  name: string,
): fc.Arbitrary<T> | undefined {
  const fixed = scalars?.[name] ?? constexprs?.[name];
  if (fixed !== undefined) return fc.constant(fixed as T);
  const values = (kernel.arguments ?? []).flatMap((each) => (name in each ? [each[name] as T] : []));
  const initial = kernel.signature.scalars.find((scalar) => scalar.name === name)?.default;
  if (initial !== undefined) values.push(initial as T);
  return values.length > 0 ? fc.constantFrom(...values) : undefined;
}

function layoutsArbitrary(
  signature: CompiledKernel["signature"],
  layouts: CaseOptions["layouts"],
): fc.Arbitrary<Record<string, Layout>> {
  return recordOf(tensorsWithLayout(signature), (tensor) => {
    const supported = layoutsOf(signature, tensor).filter((each) => layouts?.includes(each) ?? true);
    return [tensor.name, fc.constantFrom<Layout[]>(...(supported.length > 0 ? supported : (["contiguous"] as const)))];
  }).map(
    (each) => sharedLayouts(signature, each),
    (each) => each as Record<string, Layout>,
  );
}

/** A test case similar to `drawn` that the kernel accepts. */
function repairCase(kernel: CompiledKernel, drawn: TestCase, options: CaseOptions): TestCase {
  const testCase = shrinkToAffordable(kernel, drawn, options);
  if (kernel.refusal(testCase) === undefined) return testCase;
  const base = baseOf(kernel, testCase.config, options.sizes);
  if ("refusal" in base) throw new UsageError(noSizes(kernel, base.refusal));
  const isSmall = (candidate: TestCase): boolean => isAffordable(kernel, candidate, options);
  const fixed = Object.entries(options.sizes ?? {});
  const isAccepted = (candidate: TestCase): boolean =>
    kernel.refusal(candidate) === undefined && fixed.every(([name, size]) => candidate.sizes[name] === size);
  const start = shrinkAccepted(kernel, base.at, isSmall, isAccepted);
  return nearestAcceptedCase(kernel, testCase, start, (each) => isAccepted(each) && (isSmall(each) || !isSmall(start)));
}

/** Test cases with one of a few Triton specializations; everything else is drawn. They shrink like any other case. */
function specializedCases(
  kernel: CompiledKernel,
  options: CaseOptions,
  { most, seed }: NonNullable<CaseOptions["specializations"]>,
): fc.Arbitrary<TestCase> {
  const configs = configsOf(kernel, options);
  const samples = configs.flatMap((config) =>
    fc.sample(freeCases(kernel, { ...options, config, empty: false }, true), { seed: seed + config, numRuns: most }),
  );
  const free = freeCases(kernel, options);
  const similar = fc
    .tuple(fc.constantFrom(...samples), free)
    .map(([pattern, drawn]) => matchSpecialization(kernel, pattern, drawn, options));
  return new SeparateShrinker(similar, free);
}

/** The drawn case, changed so that Triton compiles the same specialization as for `pattern`. */
function matchSpecialization(
  kernel: CompiledKernel,
  pattern: TestCase,
  drawn: TestCase,
  options: CaseOptions,
): TestCase {
  const floats = kernel.signature.scalars.flatMap(({ name, dtype }) => (dtype.includes("int") ? [] : [name]));
  const scalars = Object.fromEntries(Object.entries(drawn.scalars ?? {}).filter(([name]) => floats.includes(name)));
  const testCase: TestCase = {
    ...pattern,
    scalars: { ...pattern.scalars, ...scalars },
    ...(drawn.special && { special: drawn.special }),
    seed: drawn.seed,
  };
  const sizes = Object.entries(drawn.sizes).map(
    ([name, size]) => [name, size && sameSpecialization(pattern.sizes[name]!, size)] as const,
  );
  const redrawn: TestCase = { ...testCase, sizes: Object.fromEntries(sizes) };
  if (!isAffordable(kernel, redrawn, options) || kernel.refusal(redrawn) !== undefined) return testCase;
  // An empty output launches nothing.
  const isEmpty = Object.values(redrawn.sizes).includes(0);
  return isEmpty || specializationKey(kernel, redrawn) === specializationKey(kernel, pattern) ? redrawn : testCase;
}

function isAffordable(
  kernel: CompiledKernel,
  testCase: TestCase,
  { maxWork = 2 ** 20, maxLanes = Infinity, maxElements = 2 ** 24 }: CaseOptions,
): boolean {
  if (productOfSizes(testCase) > maxWork || largestNumel(kernel, testCase) > maxElements) return false;
  // The work of rejected sizes is unknown.
  return maxLanes === Infinity || kernel.refusal(testCase) !== undefined || kernel.work(testCase).lanes <= maxLanes;
}

/** The product of all sizes. It bounds the run time if the grid is unknown. */
export function productOfSizes({ sizes }: Pick<TestCase, "sizes">): number {
  return Object.values(sizes).reduce((total, size) => total * size, 1);
}

/** Divides the largest size repeatedly until the case is affordable. */
function shrinkToAffordable(kernel: CompiledKernel, testCase: TestCase, options: CaseOptions): TestCase {
  const { sizes } = testCase;
  if (isAffordable(kernel, testCase, options)) return testCase;
  const free = Object.entries(sizes).filter(([name]) => !(name in (options.sizes ?? {})));
  for (const [name, size] of free.toSorted(([, x], [, y]) => y - x)) {
    const smaller = roundUpToAllowed(kernel.signature, name, Math.max(1, Math.floor(size / 5)));
    if (smaller < size)
      return shrinkToAffordable(kernel, { ...testCase, sizes: { ...sizes, [name]: smaller } }, options);
  }
  return testCase;
}

/** A record with independently drawn values. */
function recordOf<Item, Value>(
  items: readonly Item[],
  entry: (item: Item) => readonly [string, fc.Arbitrary<Value>],
): fc.Arbitrary<Record<string, Value>> {
  return fc.record(Object.fromEntries(items.map(entry))) as fc.Arbitrary<Record<string, Value>>;
}

function sizesArbitrary(
  { signature, configs, tileDims }: CompiledKernel,
  { maxSize = 150, sizes: fixed = {}, empty = false }: CaseOptions,
  isPatterned: boolean,
): fc.Arbitrary<Record<string, number>> {
  const configValues = configs.flatMap(({ values }) => Object.values(values));
  const blocks = [...new Set([...configValues, ...tileDims])].filter(
    (value): value is number => typeof value === "number" && value > 1 && value <= maxSize,
  );
  const size = sizeArbitrary(blocks, maxSize);
  const sizesRecord = (sizeValues: fc.Arbitrary<number>, isEmpty = false): fc.Arbitrary<Record<string, number>> => {
    const mayBeEmpty = isEmpty ? emptyable(signature) : [];
    return recordOf(signature.sizes, (name) => {
      const constant = fixed[name] ?? (mayBeEmpty.includes(name) ? 0 : undefined);
      if (constant !== undefined) return [name, fc.constant(constant)];
      // The inverse is the identity: a drawn size is already allowed.
      const allowed = sizeValues.map(
        (drawn) => roundUpToAllowed(signature, name, drawn),
        (value) => value as number,
      );
      return [name, allowed];
    });
  };
  const any = isPatterned
    ? fc.oneof(
        sizesRecord(size),
        sizesRecord(fc.integer({ min: 1, max: Math.max(1, Math.floor(maxSize / 16)) }).map((n) => n * 16)),
        sizesRecord(fc.constant(1)),
      )
    : sizesRecord(size);
  return empty && emptyable(signature).some((name) => !(name in fixed))
    ? fc.oneof({ weight: 24, arbitrary: any }, { weight: 1, arbitrary: sizesRecord(size, true) })
    : any;
}

/** Sizes that may be 0: every output has them as a dim, and no input depends on their values. */
function emptyable({ tensors, drawn: drawnSizes, multiples = {}, tileSizes = {} }: Signature): readonly string[] {
  if (drawnSizes) return [];
  const outputs = tensors.filter(({ role }) => role !== "in");
  const bounds = new Set(tensors.flatMap(({ range }) => range?.uses ?? []));
  const [first] = outputs;
  return (first?.dims ?? []).filter(
    (dim): dim is string =>
      typeof dim === "string" &&
      !bounds.has(dim) &&
      !(dim in multiples) &&
      !(dim in tileSizes) &&
      outputs.every(({ dims }) => dims.includes(dim)),
  );
}

function sizeArbitrary(blocks: readonly number[], maxSize: number): fc.Arbitrary<number> {
  const boundaries = blocks
    .flatMap((block) => [...boundarySizes(block), 2 * block])
    .filter((value) => value <= maxSize);
  const uniform = fc.integer({ min: 1, max: maxSize });
  const biased = fc.oneof(
    uniform,
    ...(boundaries.length > 0 ? [fc.constantFrom(...boundaries), fc.constantFrom(1, 2, 3, 13, 97)] : []),
  );
  // A declared size may exceed the drawn range and must shrink too.
  return new SeparateShrinker(biased, fc.integer({ min: 1, max: 2 ** 31 - 1 }));
}

/** Generates with one arbitrary and shrinks with another: a constant cannot shrink, an integer can. */
class SeparateShrinker<T> extends fc.Arbitrary<T> {
  constructor(
    private readonly generator: fc.Arbitrary<T>,
    private readonly shrinker: fc.Arbitrary<T>,
  ) {
    super();
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<T> {
    return new fc.Value(this.generator.generate(random, bias).value, undefined);
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.shrinker.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.shrinker.shrink(value, context);
  }
}

/** Generates a few times until a value is valid, then repairs the last one. Shrinks only to valid values. */
class RetryingArbitrary<T> extends fc.Arbitrary<T> {
  readonly #valid: fc.Arbitrary<T>;

  constructor(
    private readonly initial: fc.Arbitrary<T>,
    private readonly retry: fc.Arbitrary<T>,
    private readonly isValid: (value: T) => boolean,
    private readonly repair: (value: T) => T,
    private readonly maxTries: number,
  ) {
    super();
    this.#valid = initial.filter(isValid);
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<T> {
    for (let remaining = this.maxTries; ; remaining--) {
      const arbitrary = remaining === this.maxTries ? this.initial : this.retry;
      const { value } = arbitrary.generate(random, bias);
      if (this.isValid(value)) return new fc.Value(value, undefined);
      if (remaining <= 1) return new fc.Value(this.repair(value), undefined);
    }
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.initial.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.#valid.shrink(value, context);
  }
}

/** With few multiprocessors, each program of a persistent kernel computes several tiles even if sizes are small. */
const gpuArbitrary: fc.Arbitrary<Partial<DeviceProperties>> = fc.constantFrom<number[]>(1, 3, 132).map(
  (multiProcessorCount) => ({ multiProcessorCount }),
  (gpu) => (gpu as DeviceProperties).multiProcessorCount,
);

function constexprArbitrary({ kind, choices, default: initial }: ConstexprSignature): fc.Arbitrary<Constant> {
  if (choices) return fc.constantFrom(...choices);
  if (kind === "bool") return fc.boolean();
  const generated = kind === "int" ? fc.integer({ min: 1, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true });
  return initial === undefined ? generated : fc.oneof(fc.constant(initial), generated);
}

/** Special values in one of four cases. Mapped from a number, because explicit lists must shrink too. */
function specialArbitrary(special: readonly SpecialValue[]): fc.Arbitrary<readonly SpecialValue[]> {
  return fc.constantFrom(0, 0, 0, 1).map(
    (isSpecial) => (isSpecial ? special : []),
    (value) => ((value as readonly SpecialValue[]).length > 0 ? 1 : 0),
  );
}
