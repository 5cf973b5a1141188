/**
 * The cases that verify a kernel: sizes of one, sizes below a block, sizes that no block divides, aligned sizes and the
 * author's own; every config; every dtype; every layout.
 */
import {
  type Case,
  type CompiledKernel,
  type ConstexprSignature,
  type Layout,
  type Signature,
  type TensorSignature,
  formatSizes,
} from "../../contract/compiled.js";

/** What the user fixed on the command line. */
export interface Selection {
  readonly sizes?: Readonly<Record<string, number>>;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly config?: number;
  readonly seed: number;
}

/** What a device can compute in a few seconds. */
export interface Limits {
  /** Number of elements of the largest tensor. */
  readonly elements: number;
  /** Product of all sizes, which for a matrix product is its number of multiplications. */
  readonly work: number;
  /** Run every config and dtype on every shape instead of taking turns. */
  readonly exhaustive: boolean;
}

export interface PlannedCase {
  readonly at: Case;
  /** What this case tests, in a word. */
  readonly label: string;
  /** Extra cases are dropped when time runs out. */
  readonly extra: boolean;
}

export interface Plan {
  readonly cases: readonly PlannedCase[];
  /** What will not run, and why. */
  readonly left: readonly string[];
}

interface Shape {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly layouts: readonly Layout[];
  /** Sizes that may be reduced on a slow device, in the order of reduction. */
  readonly free?: readonly string[];
  /** The author's scalars and constexprs for these sizes. */
  readonly given?: Arguments;
}

type Arguments = Readonly<Record<string, number | boolean | string>>;

/** What a caller chooses besides sizes: dtypes, flags, choices. */
interface Variant {
  readonly dtypes: Readonly<Record<string, string>>;
  readonly constexprs: Arguments;
}

/** The cases to run on a device with these limits, the most informative ones first. */
export function planCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const left = new Set<string>();
  const variants = variantsFor(kernel.signature, selection);
  const shapes = shapesFor(kernel, selection).flatMap((shape) => {
    if (selection.sizes) return [shape];
    for (let less: Shape | undefined = shape; less; less = shrink(less))
      if (affordable(kernel, less, variants[0]!, limits)) return [less];
    left.add(`${formatSizes(shape.sizes)}: too large for this device`);
    return [];
  });
  const configs = selection.config === undefined ? kernel.configs.map((_, index) => index) : [selection.config];
  const cases: PlannedCase[] = [];
  let turn = 0;
  for (const [place, shape] of shapes.entries()) {
    // The first shape meets every config; the others take turns.
    const every = place === 0 || limits.exhaustive;
    for (const [config, variant] of every
      ? pairs(configs, variants, limits.exhaustive)
      : variants.map((v) => [undefined, v] as const)) {
      for (const layout of shape.layouts) {
        const chosen = config ?? configs[turn++ % configs.length]!;
        const all = caseOf(kernel.signature, shape, variant, layout, chosen, selection.seed);
        for (const at of withAndWithout(kernel.signature.tensors, all, every, turn)) {
          const refusal = kernel.refusal(at);
          if (refusal === undefined) cases.push({ at, label: shape.label, extra: place !== 0 });
          else left.add(`${formatSizes(shape.sizes)}: the kernel refuses it (${refusal})`);
        }
      }
    }
  }
  return { cases, left: [...left] };
}

/**
 * What to compile: every config with every dtype, flag and choice, and inputs in each layout, at the first sizes that
 * the kernel accepts. The author's sizes are tried before ours.
 */
export function compileCases(
  kernel: CompiledKernel,
  selection: Selection,
  layouts: readonly Layout[] = ["contiguous"],
): Omit<Plan, "cases"> & { cases: readonly Case[] } {
  const { signature } = kernel;
  const known = shapesFor(kernel, selection);
  const shapes = [
    ...known.filter(({ label }) => label === "author's"),
    ...known.filter(({ label }) => label !== "author's"),
  ];
  const cases: Case[] = [];
  const left = new Set<string>();
  for (const config of selection.config === undefined ? kernel.configs.keys() : [selection.config]) {
    for (const variant of variantsFor(signature, selection)) {
      for (const layout of layouts) {
        const tried = shapes.map((shape) => caseOf(signature, shape, variant, layout, config, selection.seed));
        const at = tried.find((candidate) => kernel.refusal(candidate) === undefined);
        if (!at) left.add(`config ${config}: the kernel refuses it (${kernel.refusal(tried[0]!)})`);
        else if (at.layouts && Object.keys(at.layouts).length === 0)
          left.add(`${layout}: no input can have this layout`);
        else cases.push(...withAndWithout([...signature.tensors, ...signature.pointers], at, true, 0));
      }
    }
  }
  return { cases, left: [...left] };
}

/** The case with and without its optional tensors: both, or alternately. */
function withAndWithout(
  parameters: readonly { readonly name: string; readonly optional: boolean }[],
  at: Case,
  both: boolean,
  turn: number,
): readonly Case[] {
  const optional = parameters.filter((parameter) => parameter.optional).map(({ name }) => name);
  if (optional.length === 0) return [at];
  const without: Case = { ...at, absent: optional };
  return both ? [at, without] : [turn % 2 === 0 ? at : without];
}

/** Every pair of config and variant, or just enough pairs that each config and each variant occurs. */
function pairs(configs: readonly number[], variants: readonly Variant[], all: boolean): (readonly [number, Variant])[] {
  if (all) return configs.flatMap((config) => variants.map((variant) => [config, variant] as const));
  const count = Math.max(configs.length, variants.length);
  return Array.from(
    { length: count },
    (_, i) => [configs[i % configs.length]!, variants[i % variants.length]!] as const,
  );
}

function shapesFor(kernel: CompiledKernel, selection: Selection): Shape[] {
  const names = sizeNames(kernel.signature);
  const fixed = fixedSizes(kernel);
  if (selection.sizes) return [{ label: "given", sizes: { ...fixed, ...selection.sizes }, layouts: ["contiguous"] }];
  const free = names.filter((name) => !(name in fixed));
  const shape = (label: string, values: readonly number[], layouts: readonly Layout[] = ["contiguous"]): Shape => ({
    label,
    sizes: {
      ...Object.fromEntries(free.map((name, i) => [name, allowed(kernel.signature, name, values[i]!)])),
      ...fixed,
    },
    layouts,
    free,
  });
  const inputs = kernel.signature.tensors.filter((tensor) => tensor.role !== "out");
  const odd = allLayouts.filter((layout) => layout === "contiguous" || inputs.some((tensor) => takes(tensor, layout)));
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
    ...kernel.shapes.map((sizes, i): Shape => {
      const given = kernel.arguments?.[i] ?? {};
      return { label: "author's", sizes, layouts: ["contiguous"], given };
    }),
  ];
}

/** Halves the first size that is not small; blocks mostly iterate over the last sizes. */
function shrink(shape: Shape): Shape | undefined {
  const name = shape.free?.find((each) => shape.sizes[each]! > 3);
  if (name === undefined) return undefined;
  const size = shape.sizes[name]!;
  return { ...shape, sizes: { ...shape.sizes, [name]: size % 2 === 0 ? size / 2 : nextPrime(size / 2) } };
}

export const allLayouts: readonly Layout[] = ["contiguous", "transposed", "sliced", "offset"];

/** The next larger size that the kernel accepts. */
export function allowed({ multiples = {}, tileSizes = {} }: Signature, name: string, size: number): number {
  const least = tileSizes[name];
  if (least !== undefined) return 2 ** Math.ceil(Math.log2(Math.max(least, size)));
  const multiple = multiples[name] ?? 1;
  return Math.ceil(size / multiple) * multiple;
}

/** Whether a wrapper accepts this layout of a tensor, and whether the layout differs from contiguous. */
function takes({ contiguous, dims, described }: TensorSignature, layout: Layout): boolean {
  if (described) return false;
  if (layout === "transposed") return !contiguous && dims.length >= 2;
  if (layout === "sliced") return !contiguous && dims.length >= 1;
  return true;
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

/** Every name that needs a value in a case, in the order of the signature. */
export function sizeNames(signature: Signature): string[] {
  return [...signature.sizes];
}

/** Dims that are constexprs keep the author's value, because few values compile. */
function fixedSizes(kernel: CompiledKernel): Record<string, number> {
  const bound = kernel.signature.constexprs.filter((constexpr) => constexpr.from === "dim");
  return Object.fromEntries(bound.map(({ name }) => [name, kernel.shapes[0]?.[name] ?? 64]));
}

/** Beyond this many combinations of dtypes, flags and choices, only each single value is tried. */
const MANY_VARIANTS = 24;

/** Every assignment of the signature's dtype variables, flags and choices that the selection allows. */
export function variantsFor(signature: Signature, selection: Selection): Variant[] {
  const dtypes = Object.entries(signature.dtypes).map(([name, members]) => {
    const chosen = selection.dtypes?.[name];
    return { name, isDType: true, values: chosen ? [chosen] : members };
  });
  const constexprs = signature.constexprs.flatMap((constexpr) => {
    const values = valuesOf(constexpr);
    return values ? [{ name: constexpr.name, isDType: false, values }] : [];
  });
  const axes = [...dtypes, ...constexprs];
  const total = axes.reduce((product, { values }) => product * values.length, 1);
  const most = Math.max(1, ...axes.map(({ values }) => values.length));
  return Array.from({ length: total <= MANY_VARIANTS ? total : most }, (_, i) => {
    let rest = i;
    const pick = axes.map(({ name, isDType, values }) => {
      const value = values[rest % values.length]!;
      if (total <= MANY_VARIANTS) rest = Math.floor(rest / values.length);
      return { name, isDType, value };
    });
    const of = (wanted: boolean) =>
      Object.fromEntries(pick.filter(({ isDType }) => isDType === wanted).map(({ name, value }) => [name, value]));
    return { dtypes: of(true) as Record<string, string>, constexprs: of(false) };
  });
}

/** The values to try for a caller's constexpr; for a dtype, the members of its variable. */
function valuesOf({
  from,
  kind,
  choices,
  default: initial,
}: ConstexprSignature): Variant["constexprs"][string][] | undefined {
  if (from !== "argument" || kind === "dtype") return undefined;
  if (choices) return [...choices];
  if (kind === "bool") return [false, true];
  return [initial ?? 1];
}

export function caseOf(
  signature: Signature,
  shape: Shape,
  { dtypes, constexprs }: Variant,
  layout: Layout,
  config: number,
  seed: number,
): Case {
  const inputs = signature.tensors.filter((tensor) => tensor.role !== "out" && takes(tensor, layout));
  const scalars = signature.scalars.map(({ name, dtype, default: value }) => [
    name,
    shape.given?.[name] ?? value ?? (/^(float|bfloat)/.test(dtype) ? 0.5 : 3),
  ]);
  const { given = {} } = shape;
  const chosen = Object.fromEntries(Object.entries(constexprs).map(([name, value]) => [name, given[name] ?? value]));
  return {
    sizes: shape.sizes,
    dtypes,
    ...(scalars.length > 0 && { scalars: Object.fromEntries(scalars) as Record<string, number> }),
    ...(Object.keys(chosen).length > 0 && { constexprs: chosen }),
    ...(layout !== "contiguous" && { layouts: Object.fromEntries(inputs.map(({ name }) => [name, layout])) }),
    config,
    seed,
  };
}

function affordable(kernel: CompiledKernel, shape: Shape, variant: Variant, limits: Limits): boolean {
  const at = caseOf(kernel.signature, shape, variant, "contiguous", 0, 0);
  return largestTensor(kernel, at) <= limits.elements && workOf(at) <= limits.work;
}

const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);

/** The product of all sizes, which for a matrix product is its number of multiplications. */
export function workOf({ sizes }: Pick<Case, "sizes">): number {
  return product(Object.values(sizes));
}

/** Elements of a case's largest tensor. */
export function largestTensor(kernel: CompiledKernel, at: Case): number {
  const sizes = kernel.sizes(at);
  return Math.max(...kernel.signature.tensors.map((tensor) => product(shapeOf(tensor.dims, sizes))));
}

/** The shape that dims have with these sizes. */
export function shapeOf(dims: readonly (string | number)[], sizes: Readonly<Record<string, number>>): number[] {
  return dims.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));
}
