/**
 * The test cases that verify a kernel: declared shapes; shapes with ones, sizes below a block, sizes that no block
 * divides, and aligned sizes; every config, dtype and layout.
 */
import { cacheKey, formatNumber } from "../../compiled/canonical-json.js";
import {
  type TestCase,
  type CompiledKernel,
  formatSizes,
  type SpecialValue,
  type TensorSignature,
  type Config,
} from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { configsOf, inTurn, type Selection, type Variant, variantsFor } from "./selection.js";
import {
  acceptedByConfig,
  caseOf,
  declaredShapes,
  givenShape,
  type Shape,
  shrinkShape,
  usualShapes,
  withOutputs,
} from "./shapes.js";

/** The amount of work that a device computes in a few seconds. */
export interface Limits {
  /** Number of elements of the largest tensor. */
  readonly elements: number;
  /** Lanes that a case computes. */
  readonly work: number;
  /** The overhead of an op, in lanes. */
  readonly op: number;
  /** Run every config and dtype on every shape instead of alternating. */
  readonly exhaustive: boolean;
}

export interface PlannedCase {
  readonly testCase: TestCase;
  /** A word for the purpose of this case. */
  readonly label: string;
  /** Extra cases are dropped when time runs out. */
  readonly isExtra: boolean;
  /** The index of its sizes in the declared shapes. */
  readonly declaredIndex?: number | undefined;
}

export interface Plan {
  readonly cases: readonly PlannedCase[];
  /** Descriptions of cases that will not run, with the reason. */
  readonly skipped: readonly string[];
}

/** Declared shapes may cost more than generated ones, because the author requests them. */
const DECLARED_WORK_FACTOR = 2;
const DECLARED_ELEMENTS_FACTOR = 8;
/** A guess takes the longest row for each program. */
const GUESSED_WORK_FACTOR = 4;

/** The test cases for a device with these limits: declared shapes, then generated ones, the most informative first. */
export function planCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const declared = selection.sizes ? { cases: [], skipped: [] } : declaredCases(kernel, limits, selection);
  const generated = generatedCases(kernel, limits, selection);
  return {
    cases: [...declared.cases, ...specialCases(kernel, generated.cases, selection), ...generated.cases],
    skipped: [...new Set([...declared.skipped, ...generated.skipped])],
  };
}

/**
 * The declared shapes, cheapest first, each with every dtype, flag and choice. On a slow device, configs alternate, and
 * cases run until the total cost is used up.
 */
export function declaredCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const variants = variantsFor(kernel, selection);
  const configs = configsOf(kernel, selection);
  const skipped = new Set<string>();
  let round = 0;
  const planned = declaredShapes(kernel).flatMap((shape) => {
    const byKey = new Map<string, PlannedCase & { cost: number }>();
    for (const variant of variants) {
      const { accepted, refusal: firstRefusal } = acceptedByConfig(kernel, shape, variant, configs, selection.seed);
      if (accepted.length === 0)
        skipped.add(`declared shape ${formatSizes(shape.sizes)}: the kernel refuses it (${firstRefusal})`);
      for (const baseCase of limits.exhaustive ? accepted : accepted.slice(round % accepted.length).slice(0, 1))
        for (const testCase of withOptionalVariants(kernel.signature.tensors, baseCase, limits.exhaustive, round)) {
          const refusal = kernel.refusal(testCase);
          if (refusal !== undefined) {
            skipped.add(`declared shape ${describeCase(testCase, 1)}: the kernel refuses it (${refusal})`);
            continue;
          }
          // Variants that differ only in values that the shape fixes are equal.
          byKey.set(cacheKey(limits.exhaustive ? testCase : { ...testCase, config: 0 }), {
            testCase,
            label: shape.label,
            isExtra: false,
            declaredIndex: shape.declaredIndex,
            cost: costOf(kernel, testCase, limits) / (kernel.work(testCase).guessed ? GUESSED_WORK_FACTOR : 1),
          });
        }
      round++;
    }
    return [...byKey.values()].map((each, rank) => ({ ...each, round: rank }));
  });
  let totalCost = 0;
  const cases: PlannedCase[] = [];
  const unaffordable: PlannedCase[] = [];
  // The first case of every shape comes before the second of any.
  for (const { cost, round: _, ...each } of planned.toSorted((a, b) => a.round - b.round || a.cost - b.cost)) {
    const fitsMemory = largestNumel(kernel, each.testCase) <= limits.elements * DECLARED_ELEMENTS_FACTOR;
    if (fitsMemory && totalCost + cost <= limits.work * DECLARED_WORK_FACTOR) {
      totalCost += cost;
      cases.push(each);
    } else unaffordable.push(each);
  }
  const declaredRun = new Set(cases.map(({ declaredIndex }) => declaredIndex));
  for (const { testCase, declaredIndex } of unaffordable)
    skipped.add(
      `declared shape ${declaredRun.has(declaredIndex) ? formatCase(testCase) : formatSizes(testCase.sizes)}: ${describeTooLarge(kernel, testCase)}`,
    );
  return { cases, skipped: [...skipped] };
}

/** The number of kinds of special rows. */
const KINDS_OF_LINES = 4;

/**
 * A small generated case again, with numbers that random draws never give: each kind of special rows and columns. Rows
 * of -Infinity and NaN follow if the reference returns numbers for them.
 */
export function specialCases(
  kernel: CompiledKernel,
  generated: readonly PlannedCase[],
  { sizes }: Selection,
): readonly PlannedCase[] {
  const { tensors, gradients } = kernel.signature;
  const inputs = tensors.filter(({ role, range, dims }) => role !== "out" && !range && dims.length > 0);
  const small = generated.find(({ label }) => label === "primes") ?? smallest(kernel, generated);
  if (sizes || inputs.length === 0 || !small) return [];
  const { testCase } = small;
  const allSizes = kernel.sizes(testCase);
  const rows = Math.max(1, ...inputs.map(({ dims }) => product(shapeOf(dims.slice(0, -1), allSizes))));
  const special = (kind: SpecialValue, label: string, shift = 0): PlannedCase => ({
    testCase: { ...testCase, special: [kind], seed: testCase.seed + shift },
    label,
    isExtra: false,
  });
  const shifts = Array.from({ length: Math.ceil(KINDS_OF_LINES / rows) }, (_, i) => i * rows);
  const hasColumns = inputs.some(({ dims }) => dims.length > 1);
  const cancelling = [
    special("cancelling rows", "cancelling rows"),
    special("cancelling rows", "cancelling rows", 1),
    ...(hasColumns ? [special("cancelling columns", "cancelling columns")] : []),
  ];
  // The first of these rows is special if the seed is even.
  const toEven = testCase.seed % 2;
  const nonFinite = [special("-infinity rows", "rows of -Infinity", toEven), special("nan", "NaN")];
  return [
    ...shifts.map((shift) => special("rows", "special rows", shift)),
    special("offset rows", "offset rows", toEven),
    ...(hasColumns ? [special("columns", "special columns"), special("offset columns", "offset columns")] : []),
    ...(kernel.prefixDifference ? cancelling : []),
    // The gradient at an infinity is NaN in PyTorch too, at other elements.
    ...(gradients ? [] : nonFinite.filter((each) => kernel.isSpecialDefined?.(each.testCase) === true)),
  ];
}

/** The case with the fewest elements, of those whose lines have several. */
function smallest(kernel: CompiledKernel, cases: readonly PlannedCase[]): PlannedCase | undefined {
  const usable = cases
    .filter(({ testCase }) => Object.values(testCase.sizes).every((size) => size > 3))
    .map((planned) => ({ planned, count: largestNumel(kernel, planned.testCase) }));
  return usable.toSorted((a, b) => a.count - b.count)[0]?.planned ?? cases.at(-1);
}

/** Generated shapes, or the shape of the command line. */
function generatedCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const skipped = new Set<string>();
  const variants = variantsFor(kernel, selection);
  const configs = configsOf(kernel, selection);
  const shapes = selection.sizes
    ? [givenShape(selection, kernel)]
    : affordableShapes(kernel, limits, inTurn(variants, 0), skipped);
  const cases = new Map<string, PlannedCase>();
  let round = 0;
  for (const [index, shape] of shapes.entries()) {
    // The first shape runs with every config. The others alternate between configs.
    const isExhaustive = index === 0 || limits.exhaustive;
    for (const [config, variant] of isExhaustive
      ? pairConfigsWithVariants(configs, variants, limits.exhaustive)
      : variants.map((v) => [undefined, v] as const)) {
      for (const layout of shape.layouts) {
        const configIndex = config ?? inTurn(configs, round++);
        const full = withOutputs(kernel, caseOf(kernel, shape, variant, layout, configIndex, selection.seed), layout);
        for (const requested of withOptionalVariants(kernel.signature.tensors, full, isExhaustive, round)) {
          const affordable = selection.sizes ? requested : toAcceptedCase(kernel, requested, limits);
          // A launch that depends on the GPU also runs with few multiprocessors.
          const testCase =
            kernel.signature.gpu && cases.size % 2 === 1
              ? { ...affordable, gpu: { multiProcessorCount: 3 } }
              : affordable;
          const refusal = kernel.refusal(testCase);
          if (refusal === undefined)
            cases.set(cacheKey(testCase), { testCase, label: shape.label, isExtra: index !== 0 });
          else skipped.add(`${formatSizes(shape.sizes)}: the kernel refuses it (${refusal})`);
        }
      }
    }
  }
  return { cases: [...cases.values()], skipped: [...skipped] };
}

/** Generated shapes, reduced until the device can afford them. */
function affordableShapes(
  kernel: CompiledKernel,
  limits: Limits,
  variant: Variant,
  skipped: Set<string>,
): readonly Shape[] {
  return usualShapes(kernel).flatMap((shape) => {
    const caseAt = (candidate: Shape) => caseOf(kernel, candidate, variant, "contiguous", 0, 0);
    for (let smaller: Shape | undefined = shape; smaller; smaller = shrinkShape(smaller))
      if (isAffordable(kernel, caseAt(smaller), limits)) return [smaller];
    skipped.add(`${formatSizes(shape.sizes)}: ${describeTooLarge(kernel, caseAt(shape))}`);
    return [];
  });
}

/** The reason for skipping an expensive case. */
function describeTooLarge(kernel: CompiledKernel, testCase: TestCase): string {
  const caveat = kernel.work(testCase).guessed
    ? " if a loop that data ends runs as many iterations as the longest size; declare its { most: … }"
    : "";
  return `too large for this device${caveat}`;
}

/** The case, or a similar one with sizes that the kernel accepts. */
function toAcceptedCase(kernel: CompiledKernel, testCase: TestCase, limits: Limits): TestCase {
  if (kernel.refusal(testCase) === undefined) return testCase;
  const base = acceptedCase(kernel, testCase.config);
  if ("refusal" in base) return testCase;
  const small = shrinkAccepted(kernel, base.at, (candidate) => isAffordable(kernel, candidate, limits));
  return nearestAcceptedCase(
    kernel,
    testCase,
    small,
    (candidate) => kernel.refusal(candidate) === undefined && isAffordable(kernel, candidate, limits),
  );
}

/** The case with and without its optional tensors: both variants, or alternately one of them. */
export function withOptionalVariants(
  params: readonly Pick<TensorSignature, "name" | "optional">[],
  testCase: TestCase,
  isExhaustive: boolean,
  round: number,
): readonly TestCase[] {
  const optional = params.filter((parameter) => parameter.optional).map(({ name }) => name);
  if (optional.length === 0) return [testCase];
  const without: TestCase = { ...testCase, absent: optional };
  return isExhaustive ? [testCase, without] : [round % 2 === 0 ? testCase : without];
}

/** Every pair of config and variant, or just enough pairs to cover each config and each variant. */
function pairConfigsWithVariants(
  configs: readonly number[],
  variants: readonly Variant[],
  isExhaustive: boolean,
): (readonly [number, Variant])[] {
  if (isExhaustive) return configs.flatMap((config) => variants.map((variant) => [config, variant] as const));
  const count = Math.max(configs.length, variants.length);
  return Array.from({ length: count }, (_, i) => [inTurn(configs, i), inTurn(variants, i)] as const);
}

function isAffordable(kernel: CompiledKernel, testCase: TestCase, limits: Limits): boolean {
  return largestNumel(kernel, testCase) <= limits.elements && costOf(kernel, testCase, limits) <= limits.work;
}

/** The cost of a case on a device, in lanes. */
export function costOf(kernel: CompiledKernel, testCase: TestCase, { op }: Pick<Limits, "op">): number {
  const { ops, lanes } = kernel.work(testCase);
  return ops * op + lanes;
}

const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);

/** The number of elements of the largest tensor. */
export function largestNumel(kernel: CompiledKernel, testCase: TestCase): number {
  const sizes = kernel.sizes(testCase);
  return Math.max(1, ...kernel.signature.tensors.map((tensor) => product(shapeOf(tensor.dims, sizes))));
}

/** The shape of a tensor with these dims for these sizes. */
export function shapeOf(dims: readonly (string | number)[], sizes: Readonly<Record<string, number>>): number[] {
  return dims.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));
}

// Formats test cases and configs.

type Values = Readonly<Record<string, number | boolean | string>>;

const formatPairs = (values: Values): string[] =>
  Object.entries(values).map(([name, value]) => `${name}=${formatNumber(value)}`);

/** `M=300 N=200 T=float16 CAUSAL=true`: a case without its memory layouts. */
export function formatCase({ sizes, dtypes, constexprs }: Pick<TestCase, "sizes" | "dtypes" | "constexprs">): string {
  return formatPairs({ ...sizes, ...dtypes, ...constexprs }).join(" ");
}

/** The whole test case on one line, with its config if the kernel has several. */
export function describeCase(testCase: TestCase, configCount: number): string {
  return [
    ...formatPairs({ ...testCase.sizes, ...testCase.dtypes, ...testCase.scalars, ...testCase.constexprs }),
    ...Object.entries(testCase.layouts ?? {}).flatMap(([name, layout]) =>
      layout === "contiguous" ? [] : [`${name} ${layout}`],
    ),
    ...(testCase.absent ?? []).map((name) => `without ${name}`),
    ...Object.entries(testCase.gpu ?? {}).map(([name, value]) => `on a GPU with ${name} ${value}`),
    ...(testCase.special?.length ? [`special values (${testCase.special.join(", ")})`] : []),
    ...(configCount > 1 ? [`config ${testCase.config}`] : []),
  ].join(" ");
}

/** @throws Error for an index that is not the kernel's. */
export function configAt({ configs }: Pick<CompiledKernel, "configs">, index: number): Config {
  const config = configs[index];
  if (!config) throw new Error(`there is no config ${index}; the kernel has ${configs.length}`);
  return config;
}

/** Constexprs and launch options of a config, under the author's names. */
export function valuesOf(config: Config): Values {
  const { at: _, gpu: __, values, ...launch } = config;
  return { ...values, ...launch };
}

/** `BLOCK_M=128 numWarps=8` */
export function formatConfig(config: Config): string {
  return formatPairs(valuesOf(config)).join(" ");
}
