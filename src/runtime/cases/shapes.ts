/** Sizes to try: the author's, and ones, primes, aligned sizes and sizes beyond a block; and cases made of them. */
import type { TestCase, CompiledKernel, Layout, Signature, TensorSignature } from "../../compiled/compiled-kernel.js";
import { clampToRanges } from "./in-range.js";
import type { Selection } from "./selection.js";
import type { Variant } from "./variants.js";
import { allLayouts, layoutsOf, placedTensors, sharedLayouts } from "./tensor-layouts.js";

export interface Shape {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly layouts: readonly Layout[];
  /** Sizes that may be reduced on a slow device, in the order of reduction. */
  readonly free?: readonly string[];
  /** The author's scalars and constexprs for these sizes. */
  readonly given?: Readonly<Record<string, number | boolean | string>>;
  /** Its place among the author's shapes. */
  readonly declared?: number;
}

export const DECLARED = "author's";

/** The shapes that the author declares. */
export function declaredShapes(kernel: CompiledKernel): readonly Shape[] {
  return kernel.shapes.map((sizes, i) => {
    const given = kernel.arguments?.[i] ?? {};
    return { label: DECLARED, sizes, layouts: ["contiguous"], given, declared: i };
  });
}

/** The sizes of the command line. */
export function givenShape({ sizes = {}, scalars, constexprs }: Selection, kernel: CompiledKernel): Shape {
  const given = { ...scalars, ...constexprs };
  return { label: "given", sizes: { ...fixedSizes(kernel), ...sizes }, layouts: ["contiguous"], given };
}

/** Our own shapes; dims that are constexprs have the values in `fixed`. */
export function usualShapes(kernel: CompiledKernel, fixed = fixedSizes(kernel)): readonly Shape[] {
  const { signature } = kernel;
  const free = signature.sizes.filter((name) => !(name in fixed));
  const shape = (label: string, values: readonly number[], layouts: readonly Layout[] = ["contiguous"]): Shape => ({
    label,
    sizes: { ...Object.fromEntries(free.map((name, i) => [name, allowed(signature, name, values[i]!)])), ...fixed },
    layouts,
    free,
  });
  const taken = new Set(placedTensors(signature).flatMap((tensor) => layoutsOf(signature, tensor)));
  const odd = allLayouts.filter((layout) => layout === "contiguous" || taken.has(layout));
  return [
    shape("beyond blocks", beyondBlocks(free.length, largestBlock(kernel))),
    shape(
      "ones",
      free.map(() => 1),
    ),
    shape(
      "primes",
      free.map((_, i) => [13, 37, 29, 23][(free.length - 1 - i) % 4]!),
      odd,
    ),
    shape(
      "aligned",
      free.map((_, i) => (i < free.length - 3 ? 2 : 128)),
    ),
  ];
}

/** Halves the first size that is not small; blocks mostly iterate over the last sizes. */
export function shrink(shape: Shape): Shape | undefined {
  const name = shape.free?.find((each) => shape.sizes[each]! > 3);
  if (name === undefined) return undefined;
  const size = shape.sizes[name]!;
  return { ...shape, sizes: { ...shape.sizes, [name]: size % 2 === 0 ? size / 2 : nextPrime(size / 2) } };
}

/** The next larger size that the kernel accepts. */
export function allowed({ multiples = {}, tileSizes = {} }: Signature, name: string, size: number): number {
  const least = tileSizes[name];
  if (least !== undefined) return 2 ** Math.ceil(Math.log2(Math.max(least, size)));
  const multiple = multiples[name] ?? 1;
  return Math.ceil(size / multiple) * multiple;
}

/** Primes that span several blocks where that is cheap: a single size may be large, three of them multiply. */
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

/** Dims that are constexprs keep the author's value, because few values compile. */
function fixedSizes(kernel: CompiledKernel): Record<string, number> {
  const [shape = {}] = kernel.shapes;
  return Object.fromEntries(constexprDims(kernel).map((name) => [name, shape[name] ?? 64]));
}

/** The layout of those tensors whose wrapper takes it. */
function placed(
  signature: Signature,
  tensors: readonly TensorSignature[],
  layout: Layout,
): Readonly<Record<string, Layout>> {
  const taking = tensors.filter((tensor) => layoutsOf(signature, tensor).includes(layout));
  return sharedLayouts(signature, Object.fromEntries(taking.map(({ name }) => [name, layout])));
}

/** The case with its outputs in this layout too. */
export function withOutputs({ signature }: CompiledKernel, at: TestCase, layout: Layout): TestCase {
  if (layout === "contiguous") return at;
  return { ...at, layouts: placed(signature, placedTensors(signature), layout) };
}

/** The case with this shape and its inputs in this layout; what the shape's author gives with it comes before the variant's. */
export function caseOf(
  kernel: CompiledKernel,
  { sizes, given = {} }: Pick<Shape, "sizes" | "given">,
  { dtypes, constexprs }: Variant,
  layout: Layout,
  config: number,
  seed: number,
): TestCase {
  const { signature } = kernel;
  const inputs = signature.tensors.filter(({ role }) => role !== "out");
  const scalars = signature.scalars.map(({ name, dtype, default: value }) => [
    name,
    given[name] ?? value ?? (/^(float|bfloat)/.test(dtype) ? 0.5 : 3),
  ]);
  const chosen = Object.fromEntries(Object.entries(constexprs).map(([name, value]) => [name, given[name] ?? value]));
  const at: TestCase = {
    sizes,
    dtypes,
    ...(scalars.length > 0 && { scalars: Object.fromEntries(scalars) as Record<string, number> }),
    ...(Object.keys(chosen).length > 0 && { constexprs: chosen }),
    ...(layout !== "contiguous" && {
      layouts: placed(signature, inputs, layout),
    }),
    config,
    seed,
  };
  const known = [...signature.scalars, ...signature.constexprs].filter(({ default: value }) => value !== undefined);
  return clampToRanges(kernel, at, (name) => !(name in given) && !known.some((each) => each.name === name));
}
