/**
 * Which cases verify a kernel: sizes of one, sizes below a block, sizes that no block divides, aligned sizes and the
 * author's own; every config; every dtype; every layout.
 */
import type { Case, CompiledKernel, Layout, Signature, TensorSignature } from "../compiled.js";

/** What the user fixed on the command line. */
export interface Selection {
  readonly sizes?: Readonly<Record<string, number>>;
  readonly dtypes?: Readonly<Record<string, string>>;
  readonly config?: number;
  readonly seed: number;
}

/** How much a device can do in a few seconds. */
export interface Limits {
  /** Elements of the largest tensor. */
  readonly elements: number;
  /** Product of all sizes, which for a matrix product is its number of multiplications. */
  readonly work: number;
  /** Run every config and dtype on every shape instead of taking turns. */
  readonly exhaustive: boolean;
}

export interface PlannedCase {
  readonly at: Case;
  /** Why this case is there, in a word. */
  readonly label: string;
  /** Extra cases are dropped when time runs out. */
  readonly extra: boolean;
}

export interface Plan {
  readonly cases: readonly PlannedCase[];
  /** What will not be run, and why. */
  readonly left: readonly string[];
}

interface Shape {
  readonly label: string;
  readonly sizes: Readonly<Record<string, number>>;
  readonly layouts: readonly Layout[];
}

type Dtypes = Readonly<Record<string, string>>;

/** The cases to run on a device with these limits, the most telling ones first. */
export function planCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const left = new Set<string>();
  const shapes = shapesFor(kernel, selection).filter((shape) => {
    if (selection.sizes || affordable(kernel, shape, limits, selection.seed)) return true;
    left.add(`${formatSizes(shape.sizes)}: too large for this device`);
    return false;
  });
  const dtypes = dtypesFor(kernel.signature, selection);
  const configs = selection.config === undefined ? kernel.configs.map((_, index) => index) : [selection.config];
  const cases: PlannedCase[] = [];
  let turn = 0;
  for (const [place, shape] of shapes.entries()) {
    // The first shape meets every config; the others take turns.
    const every = place === 0 || limits.exhaustive;
    for (const [config, dtype] of every
      ? pairs(configs, dtypes, limits.exhaustive)
      : dtypes.map((d) => [undefined, d] as const)) {
      for (const layout of shape.layouts) {
        const chosen = config ?? configs[turn++ % configs.length]!;
        const all = caseOf(kernel.signature, shape, dtype, layout, chosen, selection.seed);
        for (const at of withAndWithout(kernel.signature, all, every, turn)) {
          const refusal = kernel.refusal(at);
          if (refusal === undefined) cases.push({ at, label: shape.label, extra: place !== 0 });
          else left.add(`${formatSizes(shape.sizes)}: the kernel refuses it (${refusal})`);
        }
      }
    }
  }
  return { cases, left: [...left] };
}

/** The case with what may be left out, and without it: both, or each in turn. */
function withAndWithout({ tensors }: Signature, at: Case, both: boolean, turn: number): readonly Case[] {
  const optional = tensors.filter((tensor) => tensor.optional).map(({ name }) => name);
  if (optional.length === 0) return [at];
  const without: Case = { ...at, absent: optional };
  return both ? [at, without] : [turn % 2 === 0 ? at : without];
}

/** Each config with each dtype, or just enough pairs for each config and each dtype to occur. */
function pairs(configs: readonly number[], dtypes: readonly Dtypes[], all: boolean): (readonly [number, Dtypes])[] {
  if (all) return configs.flatMap((config) => dtypes.map((dtype) => [config, dtype] as const));
  const count = Math.max(configs.length, dtypes.length);
  return Array.from({ length: count }, (_, i) => [configs[i % configs.length]!, dtypes[i % dtypes.length]!] as const);
}

function shapesFor(kernel: CompiledKernel, selection: Selection): Shape[] {
  const names = sizeNames(kernel.signature);
  const fixed = fixedSizes(kernel);
  if (selection.sizes) return [{ label: "given", sizes: { ...fixed, ...selection.sizes }, layouts: ["contiguous"] }];
  const free = names.filter((name) => !(name in fixed));
  const shape = (label: string, values: readonly number[], layouts: readonly Layout[] = ["contiguous"]): Shape => ({
    label,
    sizes: { ...Object.fromEntries(free.map((name, i) => [name, values[i]!])), ...fixed },
    layouts,
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
    ...kernel.shapes.map((sizes): Shape => ({ label: "author's", sizes, layouts: ["contiguous"] })),
  ];
}

const allLayouts: readonly Layout[] = ["contiguous", "transposed", "sliced", "offset"];

/** Whether a wrapper accepts a tensor that lies in memory like this, and whether that differs from contiguous. */
function takes({ contiguous, dims }: TensorSignature, layout: Layout): boolean {
  if (layout === "transposed") return !contiguous && dims.length >= 2;
  if (layout === "sliced") return !contiguous && dims.length >= 1;
  return true;
}

/** Primes that span several blocks where that is cheap: a lone size may be long, three of them multiply. */
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

/** Every name that a case must give a value, in the order of the signature. */
export function sizeNames(signature: Signature): string[] {
  return [...signature.sizes];
}

/** Dims that are constexprs keep the author's value: few values compile. */
function fixedSizes(kernel: CompiledKernel): Record<string, number> {
  const bound = kernel.signature.constexprs.filter((constexpr) => constexpr.from === "dim");
  return Object.fromEntries(bound.map(({ name }) => [name, kernel.shapes[0]?.[name] ?? 64]));
}

/** Every assignment of dtypes to the signature's dtype variables that the selection allows. */
function dtypesFor(signature: Signature, selection: Selection): Dtypes[] {
  let assignments: Dtypes[] = [{}];
  for (const [variable, members] of Object.entries(signature.dtypes)) {
    const chosen = selection.dtypes?.[variable];
    assignments = assignments.flatMap((assigned) =>
      (chosen ? [chosen] : members).map((member) => ({ ...assigned, [variable]: member })),
    );
  }
  return assignments;
}

function caseOf(
  signature: Signature,
  shape: Shape,
  dtypes: Dtypes,
  layout: Layout,
  config: number,
  seed: number,
): Case {
  const inputs = signature.tensors.filter((tensor) => tensor.role !== "out" && takes(tensor, layout));
  const scalars = signature.scalars.map(({ name, dtype, default: value }) => [
    name,
    value ?? (/^(float|bfloat)/.test(dtype) ? 0.5 : 3),
  ]);
  const constexprs = signature.constexprs
    .filter((constexpr) => constexpr.from === "argument")
    .map((constexpr) => [constexpr.name, constexpr.default ?? constexpr.choices?.[0] ?? fallback[constexpr.kind]]);
  return {
    sizes: shape.sizes,
    dtypes,
    ...(scalars.length > 0 && { scalars: Object.fromEntries(scalars) as Record<string, number> }),
    ...(constexprs.length > 0 && { constexprs: Object.fromEntries(constexprs) as NonNullable<Case["constexprs"]> }),
    ...(layout !== "contiguous" && { layouts: Object.fromEntries(inputs.map(({ name }) => [name, layout])) }),
    config,
    seed,
  };
}

const fallback = { int: 1, float: 1, bool: true, string: "" } as const;

function affordable(kernel: CompiledKernel, shape: Shape, limits: Limits, seed: number): boolean {
  const { signature } = kernel;
  const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);
  const sizes = kernel.sizes(caseOf(signature, shape, {}, "contiguous", 0, seed));
  const largest = Math.max(...signature.tensors.map((tensor) => product(shapeOf(tensor.dims, sizes))));
  return largest <= limits.elements && product(Object.values(shape.sizes)) <= limits.work;
}

/** The shape that dims have with these sizes. */
export function shapeOf(dims: readonly (string | number)[], sizes: Readonly<Record<string, number>>): number[] {
  return dims.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));
}

/** `M=300 N=200` */
export function formatSizes(sizes: Readonly<Record<string, number>>): string {
  return Object.entries(sizes)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
}
