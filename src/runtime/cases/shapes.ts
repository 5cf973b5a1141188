/**
 * Shapes to try: the declared ones, and generated ones with ones, primes, aligned sizes and sizes larger than a block.
 * Also builds test cases from shapes.
 */
import {
  type TestCase,
  type CompiledKernel,
  type Layout,
  type Signature,
  type TensorSignature,
  passedConstexprs,
} from "../../compiled/compiled-kernel.js";
import {
  inTurn,
  type Selection,
  type Variant,
  allLayouts,
  layoutsOf,
  tensorsWithLayout,
  sharedLayouts,
} from "./selection.js";

export interface Shape {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly layouts: readonly Layout[];
  /** Sizes that may be reduced on a slow device, in order of reduction. */
  readonly reducible?: readonly string[];
  /** The declared scalars and constexprs for these sizes. */
  readonly args?: Readonly<Record<string, number | boolean | string>>;
  /** Its index in the declared shapes. */
  readonly declaredIndex?: number;
}

const DECLARED = "author's";

/** The shapes that the author declares. */
export function declaredShapes(kernel: CompiledKernel): readonly Shape[] {
  return kernel.shapes.map((sizes, i) => {
    const args = kernel.arguments?.[i] ?? {};
    return { label: DECLARED, sizes, layouts: ["contiguous"], args, declaredIndex: i };
  });
}

/** The shape of the command line. */
export function givenShape({ sizes = {}, scalars, constexprs }: Selection, kernel: CompiledKernel): Shape {
  const args = { ...scalars, ...constexprs };
  return { label: "given", sizes: { ...fixedSizes(kernel), ...sizes }, layouts: ["contiguous"], args };
}

/** Generated shapes. Dims that are constexprs have the values in `fixed`. */
export function usualShapes(kernel: CompiledKernel, fixed = fixedSizes(kernel)): readonly Shape[] {
  const { signature } = kernel;
  const freeSizes = signature.sizes.filter((name) => !(name in fixed));
  const shape = (label: string, values: readonly number[], layouts: readonly Layout[] = ["contiguous"]): Shape => ({
    label,
    sizes: {
      ...Object.fromEntries(freeSizes.map((name, i) => [name, roundUpToAllowed(signature, name, values[i]!)])),
      ...fixed,
    },
    layouts,
    reducible: freeSizes,
  });
  const supported = new Set(tensorsWithLayout(signature).flatMap((tensor) => layoutsOf(signature, tensor)));
  const layouts = allLayouts.filter((layout) => layout === "contiguous" || supported.has(layout));
  return [
    shape("beyond blocks", beyondBlocks(freeSizes.length, largestBlock(kernel))),
    shape(
      "ones",
      freeSizes.map(() => 1),
    ),
    shape(
      "primes",
      freeSizes.map((_, i) => inTurn([13, 37, 29, 23], freeSizes.length - 1 - i)),
      layouts,
    ),
    shape(
      "aligned",
      freeSizes.map((_, i) => (i < freeSizes.length - 3 ? 2 : 128)),
    ),
  ];
}

/** Halves the first reducible size above 3. Loops over blocks are mostly along the last sizes. */
export function shrinkShape(shape: Shape): Shape | undefined {
  for (const name of shape.reducible ?? []) {
    const size = shape.sizes[name];
    if (size !== undefined && size > 3)
      return { ...shape, sizes: { ...shape.sizes, [name]: size % 2 === 0 ? size / 2 : nextPrime(size / 2) } };
  }
  return undefined;
}

/** The smallest accepted size that is at least `size`. */
export function roundUpToAllowed({ multiples = {}, tileSizes = {} }: Signature, name: string, size: number): number {
  const minTileSize = tileSizes[name];
  if (minTileSize !== undefined) return 2 ** Math.ceil(Math.log2(Math.max(minTileSize, size)));
  const multiple = multiples[name] ?? 1;
  return Math.ceil(size / multiple) * multiple;
}

/** Primes that span several blocks. A single size may be large, but the product of three must stay affordable. */
function beyondBlocks(count: number, block: number): number[] {
  if (count === 1) return [nextPrime(Math.max(2000, block + block / 4))];
  if (count === 2) return [67, 521];
  if (count === 3) return [131, 263, 71];
  return Array.from({ length: count }, (_, i) => [131, 67, 3, 2][count - 1 - i] ?? 1);
}

function largestBlock(kernel: CompiledKernel): number {
  const values = kernel.configs.flatMap((config) => Object.values(config.values));
  return Math.max(1, ...values.filter((value) => typeof value === "number"));
}

function nextPrime(from: number): number {
  let candidate = Math.ceil(from);
  while (!isPrime(candidate)) candidate++;
  return candidate;
}

function isPrime(n: number): boolean {
  for (let i = 2; i * i <= n; i++) if (n % i === 0) return false;
  return n > 1;
}

/** The names of dims that are constexprs. */
export function constexprDims({ signature }: CompiledKernel): readonly string[] {
  return signature.constexprs.filter(({ from }) => from === "dim").map(({ name }) => name);
}

/** Values of dims that are constexprs. They keep the author's value, because few other values compile. */
function fixedSizes(kernel: CompiledKernel): Record<string, number> {
  const [shape = {}] = kernel.shapes;
  return Object.fromEntries(constexprDims(kernel).map((name) => [name, shape[name] ?? 64]));
}

/** Assigns the layout to each tensor whose wrapper supports it. */
function assignLayout(
  signature: Signature,
  tensors: readonly TensorSignature[],
  layout: Layout,
): Readonly<Record<string, Layout>> {
  const supporting = tensors.filter((tensor) => layoutsOf(signature, tensor).includes(layout));
  return sharedLayouts(signature, Object.fromEntries(supporting.map(({ name }) => [name, layout])));
}

/** Applies the layout to outputs as well. */
export function withOutputs({ signature }: CompiledKernel, testCase: TestCase, layout: Layout): TestCase {
  if (layout === "contiguous") return testCase;
  return { ...testCase, layouts: assignLayout(signature, tensorsWithLayout(signature), layout) };
}

/** The cases of a shape in the configs that take it, and the first config's refusal. */
export function acceptedByConfig(
  kernel: CompiledKernel,
  shape: Shape,
  variant: Variant,
  configs: readonly number[],
  seed: number,
): { readonly accepted: readonly TestCase[]; readonly refusal: string | undefined } {
  const candidates = configs.map((config) => caseOf(kernel, shape, variant, "contiguous", config, seed));
  const refusals = candidates.map((testCase) => kernel.refusal(testCase));
  return { accepted: candidates.filter((_, i) => refusals[i] === undefined), refusal: refusals[0] };
}

/**
 * Builds the test case of a shape, with its inputs in this layout. Declared arguments of the shape override the
 * variant's.
 */
export function caseOf(
  kernel: CompiledKernel,
  { sizes, args = {} }: Pick<Shape, "sizes" | "args">,
  { dtypes, constexprs }: Variant,
  layout: Layout,
  config: number,
  seed: number,
): TestCase {
  const { signature } = kernel;
  const inputs = signature.tensors.filter(({ role }) => role !== "out");
  const scalars = signature.scalars.map(({ name, dtype, default: value }) => [
    name,
    args[name] ?? value ?? (/^(float|bfloat)/.test(dtype) ? 0.5 : 3),
  ]);
  const chosenConstexprs = Object.fromEntries(
    Object.entries(constexprs).map(([name, value]) => [name, args[name] ?? value]),
  );
  const testCase: TestCase = {
    sizes,
    dtypes,
    ...(scalars.length > 0 && { scalars: Object.fromEntries(scalars) as Record<string, number> }),
    ...(Object.keys(chosenConstexprs).length > 0 && { constexprs: chosenConstexprs }),
    ...(layout !== "contiguous" && {
      layouts: assignLayout(signature, inputs, layout),
    }),
    config,
    seed,
  };
  const withDefault = [...signature.scalars, ...signature.constexprs].filter(
    ({ default: value }) => value !== undefined,
  );
  return clampToRanges(
    kernel,
    testCase,
    (name) => !(name in args) && !withDefault.some((param) => param.name === name),
  );
}

// Clamps generated integers to the ranges that the kernel declares.

/**
 * Moves each number for which `isFree` holds into its declared range. The distance to the range is taken modulo its
 * length.
 */
export function clampToRanges(kernel: CompiledKernel, testCase: TestCase, isFree: (name: string) => boolean): TestCase {
  const { scalars, constexprs } = kernel.signature;
  const ranged = [...scalars, ...passedConstexprs({ constexprs })].filter(({ name, range }) => range && isFree(name));
  if (ranged.length === 0) return testCase;
  const ranges = kernel.ranges(testCase);
  const clampValues = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const range = ranged.some((each) => each.name === name) ? ranges[name] : undefined;
        return [name, range && typeof value === "number" ? (wrapIntoRange(value, range) as T) : value];
      }),
    );
  return {
    ...testCase,
    ...(testCase.scalars && { scalars: clampValues(testCase.scalars) }),
    ...(testCase.constexprs && { constexprs: clampValues(testCase.constexprs) }),
  };
}

/** The value if it is in the range or if the range is empty; otherwise an integer in the range. */
function wrapIntoRange(value: number, [start, end]: readonly [number, number]): number {
  if ((value >= start && value < end) || start >= end) return value;
  if (!Number.isFinite(end)) return start;
  if (!Number.isFinite(start)) return end - 1;
  const span = end - start;
  return start + ((((value - start) % span) + span) % span);
}
