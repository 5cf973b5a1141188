/**
 * The cases that verify a kernel: the author's sizes; sizes of one, sizes below a block, sizes that no block divides and
 * aligned sizes; every config; every dtype; every layout.
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import {
  type TestCase,
  type CompiledKernel,
  formatSizes,
  type TensorSignature,
} from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { caseText, describeCase } from "./case-text.js";
import { configsOf, type Selection } from "./selection.js";
import { caseOf, declaredShapes, givenShape, type Shape, shrink, usualShapes, withOutputs } from "./shapes.js";
import { type Variant, variantsFor } from "./variants.js";

/** What a device can compute in a few seconds. */
export interface Limits {
  /** Number of elements of the largest tensor. */
  readonly elements: number;
  /** Lanes that a case computes. */
  readonly work: number;
  /** What an operation costs besides its lanes, in lanes. */
  readonly op: number;
  /** Run every config and dtype on every shape instead of taking turns. */
  readonly exhaustive: boolean;
}

export interface PlannedCase {
  readonly at: TestCase;
  /** What this case tests, in a word. */
  readonly label: string;
  /** Extra cases are dropped when time runs out. */
  readonly extra: boolean;
  /** The place of its sizes among the author's shapes. */
  readonly declared?: number | undefined;
}

export interface Plan {
  readonly cases: readonly PlannedCase[];
  /** What will not run, and why. */
  readonly left: readonly string[];
}

/** The author asks for these sizes, so they may cost more than ours. */
const DECLARED_WORK = 2;
const DECLARED_ELEMENTS = 8;

/** The cases to run on a device with these limits: the author's shapes, then ours, the most informative ones first. */
export function planCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const declared = selection.sizes ? { cases: [], left: [] } : declaredCases(kernel, limits, selection);
  const ours = ourCases(kernel, limits, selection);
  return { cases: [...declared.cases, ...ours.cases], left: [...new Set([...declared.left, ...ours.left])] };
}

/**
 * The author's shapes, the cheapest first, each with every dtype, flag and choice. On a slow device they take turns with
 * the configs, and run as far as all of them together are affordable.
 */
export function declaredCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const variants = variantsFor(kernel, selection);
  const configs = configsOf(kernel, selection);
  const left = new Set<string>();
  let turn = 0;
  const planned = declaredShapes(kernel).flatMap((shape) => {
    const found = new Map<string, PlannedCase & { cost: number }>();
    for (const variant of variants) {
      const tried = configs.map((config) => caseOf(kernel, shape, variant, "contiguous", config, selection.seed));
      const fit = tried.filter((at) => kernel.refusal(at) === undefined);
      if (fit.length === 0)
        left.add(`declared shape ${formatSizes(shape.sizes)}: the kernel refuses it (${kernel.refusal(tried[0]!)})`);
      for (const one of limits.exhaustive ? fit : fit.slice(turn % fit.length).slice(0, 1))
        for (const at of withAndWithout(kernel.signature.tensors, one, limits.exhaustive, turn)) {
          const refusal = kernel.refusal(at);
          if (refusal !== undefined) {
            left.add(`declared shape ${describeCase(at, 1)}: the kernel refuses it (${refusal})`);
            continue;
          }
          // Variants that differ only in what the shape decides are equal.
          found.set(cacheKey(limits.exhaustive ? at : { ...at, config: 0 }), {
            at,
            label: shape.label,
            extra: false,
            declared: shape.declared,
            cost: costOf(kernel, at, limits),
          });
        }
      turn++;
    }
    return [...found.values()].map((each, round) => ({ ...each, round }));
  });
  let spent = 0;
  const cases: PlannedCase[] = [];
  const over: PlannedCase[] = [];
  // One case of each shape comes before the second of any.
  for (const { cost, round: _, ...each } of planned.toSorted((a, b) => a.round - b.round || a.cost - b.cost)) {
    const isHeld = largestTensor(kernel, each.at) <= limits.elements * DECLARED_ELEMENTS;
    if (isHeld && spent + cost <= limits.work * DECLARED_WORK) {
      spent += cost;
      cases.push(each);
    } else over.push(each);
  }
  const ran = new Set(cases.map(({ declared }) => declared));
  for (const { at, declared } of over)
    left.add(`declared shape ${ran.has(declared) ? caseText(at) : formatSizes(at.sizes)}: ${tooLarge(kernel, at)}`);
  return { cases, left: [...left] };
}

/** Our own shapes, or those of the command line. */
function ourCases(kernel: CompiledKernel, limits: Limits, selection: Selection): Plan {
  const left = new Set<string>();
  const variants = variantsFor(kernel, selection);
  const configs = configsOf(kernel, selection);
  const shapes = selection.sizes
    ? [givenShape(selection, kernel)]
    : affordableShapes(kernel, limits, variants[0]!, left);
  const cases = new Map<string, PlannedCase>();
  let turn = 0;
  for (const [place, shape] of shapes.entries()) {
    // The first shape meets every config; the others take turns.
    const every = place === 0 || limits.exhaustive;
    for (const [config, variant] of every
      ? pairs(configs, variants, limits.exhaustive)
      : variants.map((v) => [undefined, v] as const)) {
      for (const layout of shape.layouts) {
        const chosen = config ?? configs[turn++ % configs.length]!;
        const all = withOutputs(kernel, caseOf(kernel, shape, variant, layout, chosen, selection.seed), layout);
        for (const wanted of withAndWithout(kernel.signature.tensors, all, every, turn)) {
          const one = selection.sizes ? wanted : fitted(kernel, wanted, limits);
          // A launch that depends on the GPU runs on few multiprocessors too.
          const at = kernel.signature.gpu && cases.size % 2 === 1 ? { ...one, gpu: { multiProcessorCount: 3 } } : one;
          const refusal = kernel.refusal(at);
          if (refusal === undefined) cases.set(cacheKey(at), { at, label: shape.label, extra: place !== 0 });
          else left.add(`${formatSizes(shape.sizes)}: the kernel refuses it (${refusal})`);
        }
      }
    }
  }
  return { cases: [...cases.values()], left: [...left] };
}

/** Our shapes, each as large as the device computes in time. */
function affordableShapes(
  kernel: CompiledKernel,
  limits: Limits,
  variant: Variant,
  left: Set<string>,
): readonly Shape[] {
  return usualShapes(kernel).flatMap((shape) => {
    const caseAt = (of: Shape) => caseOf(kernel, of, variant, "contiguous", 0, 0);
    for (let less: Shape | undefined = shape; less; less = shrink(less))
      if (isAffordable(kernel, caseAt(less), limits)) return [less];
    left.add(`${formatSizes(shape.sizes)}: ${tooLarge(kernel, caseAt(shape))}`);
    return [];
  });
}

/** Why a case is left out. */
function tooLarge(kernel: CompiledKernel, at: TestCase): string {
  const guess = kernel.work(at).guessed ? " if a loop that data ends takes as many turns as the longest size" : "";
  return `too large for this device${guess}`;
}

/** The case, or one of its kind with sizes that the kernel accepts. */
function fitted(kernel: CompiledKernel, at: TestCase, limits: Limits): TestCase {
  if (kernel.refusal(at) === undefined) return at;
  const base = acceptedCase(kernel, at.config);
  if ("refusal" in base) return at;
  const small = shrinkAccepted(kernel, base.at, (each) => isAffordable(kernel, each, limits));
  return nearestAcceptedCase(
    kernel,
    at,
    small,
    (each) => kernel.refusal(each) === undefined && isAffordable(kernel, each, limits),
  );
}

/** The case with and without its optional tensors: both, or alternately. */
export function withAndWithout(
  parameters: readonly Pick<TensorSignature, "name" | "optional">[],
  at: TestCase,
  both: boolean,
  turn: number,
): readonly TestCase[] {
  const optional = parameters.filter((parameter) => parameter.optional).map(({ name }) => name);
  if (optional.length === 0) return [at];
  const without: TestCase = { ...at, absent: optional };
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

function isAffordable(kernel: CompiledKernel, at: TestCase, limits: Limits): boolean {
  return largestTensor(kernel, at) <= limits.elements && costOf(kernel, at, limits) <= limits.work;
}

/** What a case costs on a device, in lanes. */
export function costOf(kernel: CompiledKernel, at: TestCase, { op }: Pick<Limits, "op">): number {
  const { ops, lanes } = kernel.work(at);
  return ops * op + lanes;
}

const product = (values: readonly number[]): number => values.reduce((total, value) => total * value, 1);

/** Elements of a case's largest tensor. */
export function largestTensor(kernel: CompiledKernel, at: TestCase): number {
  const sizes = kernel.sizes(at);
  return Math.max(1, ...kernel.signature.tensors.map((tensor) => product(shapeOf(tensor.dims, sizes))));
}

/** The shape that dims have with these sizes. */
export function shapeOf(dims: readonly (string | number)[], sizes: Readonly<Record<string, number>>): number[] {
  return dims.map((dim) => (typeof dim === "number" ? dim : (sizes[dim] ?? Number.NaN)));
}
