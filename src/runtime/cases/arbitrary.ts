/** Cases of a kernel, drawn from its signature by fast-check. */
import fc from "fast-check";
import type { Architecture } from "../../compiled/kernel-targets.js";
import { type DeviceProperties, H200 } from "../../compiled/device-properties.js";
import { boundarySizes } from "../../compiled/boundary-sizes.js";
import {
  type TestCase,
  type CompiledKernel,
  type ConstexprSignature,
  type Layout,
  passedConstexprs,
  type Signature,
  type SpecialValue,
} from "../../compiled/compiled-kernel.js";
import { acceptedCase, nearestAcceptedCase, shrinkAccepted } from "./valid-cases.js";
import { largestTensor } from "./cases.js";
import { clampToRanges } from "./in-range.js";
import { configsOf } from "./selection.js";
import { allowed } from "./shapes.js";
import { UsageError } from "../system/errors.js";
import { sameSpecialization, specializationOf } from "./specialization.js";
import { layoutsOf, placedTensors, sharedLayouts } from "./tensor-layouts.js";

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
  /** A GPU, as `["cuda", 90]`: of configs that are given by GPU, those that it chooses from. Default: all. */
  readonly on?: Architecture | null | undefined;
  /** Layouts of tensors, outputs too, as far as the wrapper takes them; else contiguous. Default: all. */
  readonly layouts?: readonly Layout[];
  /** Also draws 0 for sizes that every output has. Default: false. */
  readonly empty?: boolean;
  /** Special values that some cases have among their floats. Default: none. */
  readonly special?: readonly SpecialValue[];
  /** How often Triton may compile each config; the seed chooses the specializations. Default: no limit. */
  readonly specializations?: { readonly most: number; readonly seed: number };
}

type Constant = number | boolean | string;

/**
 * Cases of a kernel, drawn from its signature: sizes at and around its blocks and their multiples, ones, primes and
 * anything between; every dtype and config; inputs that are transposed, sliced, expanded or start inside a buffer, and
 * outputs that the caller passes so; optional tensors left out. Shrinks to small sizes.
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
  const refuse = (problem: string): never => {
    throw new UsageError(`cases: ${problem}`);
  };
  // A kernel that is not built is a function, and says at each name what it has instead.
  if (typeof kernel !== "object" || !kernel?.signature?.sizes)
    refuse("the first argument is not a built kernel; pass build(…)'s result");
  const checkNames = (what: string, given: object | undefined, known: readonly string[]): void => {
    for (const name of Object.keys(given ?? {}))
      if (!known.includes(name)) refuse(`there is no ${what} ${name}; choose from ${known.join(", ") || "none"}`);
  };
  const { configs, signature } = kernel;
  const { maxSize = 1, maxWork = 1, maxLanes = 1, maxElements = 1, config = 0, dtypes = {}, sizes } = options;
  checkNames("option", options, Object.keys(CASE_OPTIONS));
  checkNames("size", sizes, signature.sizes);
  const names = (from: readonly { readonly name: string }[]): readonly string[] => from.map(({ name }) => name);
  checkNames("scalar", options.scalars, names(signature.scalars));
  checkNames("constexpr", options.constexprs, names(signature.constexprs.filter(({ from }) => from === "argument")));
  checkNames("dtype variable", dtypes, Object.keys(signature.dtypes));
  for (const [name, dtype] of Object.entries(dtypes))
    checkNames(`${name} =`, { [dtype]: true }, signature.dtypes[name]!);
  for (const [name, value] of Object.entries({ maxSize, maxWork, maxLanes, maxElements }))
    if (!Number.isInteger(value) || value < 1) refuse(`${name} is ${value}; it must be an integer from 1 up`);
  if (!configs[config]) refuse(`there is no config ${config}; the kernel has configs 0 to ${configs.length - 1}`);
}

/**
 * The case as it would be drawn, with every part written out, so that it shrinks as a drawn one does. Cases have special
 * values only if some are drawn.
 */
function asDrawn({ signature }: CompiledKernel, at: TestCase, drawn: readonly SpecialValue[]): TestCase {
  const layouts = Object.fromEntries(
    placedTensors(signature).map(({ name }) => [name, at.layouts?.[name] ?? "contiguous"]),
  );
  const hasOptional = signature.tensors.some(({ optional }) => optional);
  const { scalars = {}, constexprs = {}, absent = [], special = [], ...rest } = at;
  const { multiProcessorCount } = { ...H200, ...at.gpu };
  const gpu = signature.gpu && { gpu: { multiProcessorCount } };
  const parts = { ...rest, layouts, scalars, constexprs, ...gpu };
  return { ...parts, ...(hasOptional && { absent }), ...(drawn.length > 0 && { special }) };
}

/** The configs that the kernel accepts at some sizes. */
export function drawnConfigs(kernel: CompiledKernel, { config, on, sizes }: CaseOptions): readonly number[] {
  const configs = configsOf(kernel, { config, on });
  return configs.filter((each) => "at" in baseOf(kernel, each, sizes));
}

const baseOf = (kernel: CompiledKernel, config: number, sizes: CaseOptions["sizes"]): ReturnType<typeof acceptedCase> =>
  acceptedCase(kernel, config, { seed: 0, ...(sizes && { sizes }) });

/** Why the kernel accepts no size, in a sentence with the remedy. */
function noSizes({ signature }: CompiledKernel, why: string): string {
  return `${signature.name}: no sizes were found that the kernel accepts (${why}); list some of them as shapes in its spec`;
}

/** Cases whose every part is drawn by itself; `patterned` often has sizes that are all 1 or all multiples of 16. */
function freeCases(kernel: CompiledKernel, options: CaseOptions, patterned = false): fc.Arbitrary<TestCase> {
  const { signature } = kernel;
  const [{ special = [], layouts }, configs] = [options, drawnConfigs(kernel, options)];
  if (configs.length === 0) {
    const base = baseOf(kernel, options.config ?? 0, options.sizes);
    throw new UsageError(noSizes(kernel, "refusal" in base ? base.refusal : ""));
  }
  const optional = signature.tensors.filter((tensor) => tensor.optional).map(({ name }) => name);
  const drawn = passedConstexprs(signature);
  const known = (name: string, members: readonly string[]) =>
    options.dtypes?.[name] ? [options.dtypes[name]] : members;
  // A default, or the author's value for a shape, is the one that makes sense: a decay is not drawn.
  const given = <T extends Constant>(name: string): fc.Arbitrary<T> | undefined => {
    const fixed = options.scalars?.[name] ?? options.constexprs?.[name];
    if (fixed !== undefined) return fc.constant(fixed as T);
    const values = (kernel.arguments ?? []).flatMap((each) => (name in each ? [each[name] as T] : []));
    const initial = signature.scalars.find((scalar) => scalar.name === name)?.default;
    if (initial !== undefined) values.push(initial as T);
    return values.length > 0 ? fc.constantFrom(...values) : undefined;
  };
  const record = (empty: boolean): fc.Arbitrary<TestCase> =>
    fc.record({
      sizes: sizesArbitrary(kernel, { ...options, empty }, patterned),
      dtypes: recordOf(Object.entries(signature.dtypes), ([name, members]) => [
        name,
        fc.constantFrom(...known(name, members)),
      ]),
      layouts: recordOf(placedTensors(signature), (tensor) => {
        const taken = layoutsOf(signature, tensor).filter((each) => layouts?.includes(each) ?? true);
        return [tensor.name, fc.constantFrom<Layout[]>(...(taken.length > 0 ? taken : (["contiguous"] as const)))];
      }).map(
        (each) => sharedLayouts(signature, each),
        (each) => each as Record<string, Layout>,
      ),
      // Shrinks to the first of them.
      config: fc.nat({ max: configs.length - 1 }).map(
        (place) => configs[place]!,
        (config) => configs.indexOf(config as number),
      ),
      // Seeds do not shrink: none is simpler than another.
      seed: fc.noShrink(fc.nat({ max: 2 ** 31 - 1 })),
      scalars: recordOf(signature.scalars, ({ name, dtype }) => [
        name,
        given<number>(name) ??
          (dtype.includes("int") ? fc.integer({ min: 0, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true })),
      ]),
      constexprs: recordOf(drawn, (each) => [each.name, given(each.name) ?? constexprArbitrary(each)]),
      ...(signature.gpu && { gpu: gpuArbitrary }),
      ...(optional.length > 0 && { absent: fc.subarray(optional) }),
      ...(special.length > 0 && { special: specialArbitrary(special) }),
    });
  const isFree = (name: string): boolean => given(name) === undefined;
  // What goes back has its numbers in their ranges. A repaired case may have parts that are not written out.
  const drawnWith = (empty: boolean): fc.Arbitrary<TestCase> =>
    record(empty).map(
      (at) => clampToRanges(kernel, at, isFree),
      (at) => asDrawn(kernel, at as TestCase, special),
    );
  const isRight = (at: TestCase): boolean => isAffordable(kernel, at, options) && kernel.refusal(at) === undefined;
  // With many sizes, few products are small: waiting for one could take forever, and would find ones and empty tensors.
  const tries = patterned ? 1 : 5;
  // A case is empty by design only: empty ones are accepted most often, so trying again would find many.
  const [any, again] = [drawnWith(options.empty === true), drawnWith(false)];
  return new Tried<TestCase>(any, again, isRight, (at) => repaired(kernel, at, options), tries);
}

/** A case like the drawn one that the kernel accepts. */
function repaired(kernel: CompiledKernel, drawn: TestCase, options: CaseOptions): TestCase {
  const at = fitted(kernel, drawn, options);
  if (kernel.refusal(at) === undefined) return at;
  const base = baseOf(kernel, at.config, options.sizes);
  if ("refusal" in base) throw new UsageError(noSizes(kernel, base.refusal));
  const isSmall = (each: TestCase): boolean => isAffordable(kernel, each, options);
  const fixed = Object.entries(options.sizes ?? {});
  const isTaken = (each: TestCase): boolean =>
    kernel.refusal(each) === undefined && fixed.every(([name, size]) => each.sizes[name] === size);
  const start = shrinkAccepted(kernel, base.at, isSmall, isTaken);
  return nearestAcceptedCase(kernel, at, start, (each) => isTaken(each) && (isSmall(each) || !isSmall(start)));
}

/**
 * Cases that are each like one of a few: what Triton compiles for is that one's, the rest is drawn. They shrink as any
 * case does.
 */
function specializedCases(
  kernel: CompiledKernel,
  options: CaseOptions,
  { most, seed }: NonNullable<CaseOptions["specializations"]>,
): fc.Arbitrary<TestCase> {
  const configs = configsOf(kernel, options);
  const few = configs.flatMap((config) =>
    fc.sample(freeCases(kernel, { ...options, config, empty: false }, true), { seed: seed + config, numRuns: most }),
  );
  const free = freeCases(kernel, options);
  const like = fc.tuple(fc.constantFrom(...few), free).map(([one, drawn]) => likeOne(kernel, one, drawn, options));
  return new DrawnFrom(like, free);
}

/** The drawn case, changed so that Triton compiles the same for it as for `one`. */
function likeOne(kernel: CompiledKernel, one: TestCase, drawn: TestCase, options: CaseOptions): TestCase {
  const floats = kernel.signature.scalars.filter(({ dtype }) => !dtype.includes("int"));
  const scalars = Object.fromEntries(floats.map(({ name }) => [name, drawn.scalars![name]!]));
  const at: TestCase = {
    ...one,
    scalars: { ...one.scalars, ...scalars },
    ...(drawn.special && { special: drawn.special }),
    seed: drawn.seed,
  };
  const sizes = Object.entries(drawn.sizes).map(
    ([name, size]) => [name, size && sameSpecialization(one.sizes[name]!, size)] as const,
  );
  const redrawn: TestCase = { ...at, sizes: Object.fromEntries(sizes) };
  if (!isAffordable(kernel, redrawn, options) || kernel.refusal(redrawn) !== undefined) return at;
  // An empty output launches nothing.
  const isEmpty = Object.values(redrawn.sizes).includes(0);
  return isEmpty || specializationOf(kernel, redrawn) === specializationOf(kernel, one) ? redrawn : at;
}

function isAffordable(
  kernel: CompiledKernel,
  at: TestCase,
  { maxWork = 2 ** 20, maxLanes = Infinity, maxElements = 2 ** 24 }: CaseOptions,
): boolean {
  if (productOfSizes(at) > maxWork || largestTensor(kernel, at) > maxElements) return false;
  // The work of sizes that the kernel refuses is unknown.
  return maxLanes === Infinity || kernel.refusal(at) !== undefined || kernel.work(at).lanes <= maxLanes;
}

/** It bounds the time of a case where nothing is known of the grid. */
export function productOfSizes({ sizes }: Pick<TestCase, "sizes">): number {
  return Object.values(sizes).reduce((total, size) => total * size, 1);
}

/** Reduces the largest size of the case repeatedly, until the case is affordable. */
function fitted(kernel: CompiledKernel, at: TestCase, options: CaseOptions): TestCase {
  const { sizes } = at;
  if (isAffordable(kernel, at, options)) return at;
  const free = Object.keys(sizes).filter((name) => !(name in (options.sizes ?? {})));
  const smaller = (name: string) => allowed(kernel.signature, name, Math.max(1, Math.floor(sizes[name]! / 5)));
  const name = free.toSorted((x, y) => sizes[y]! - sizes[x]!).find((each) => smaller(each) < sizes[each]!);
  return name === undefined ? at : fitted(kernel, { ...at, sizes: { ...sizes, [name]: smaller(name) } }, options);
}

/** A record whose values are drawn one by one. */
function recordOf<From, To>(
  from: readonly From[],
  entry: (each: From) => readonly [string, fc.Arbitrary<To>],
): fc.Arbitrary<Record<string, To>> {
  return fc.record(Object.fromEntries(from.map(entry))) as fc.Arbitrary<Record<string, To>>;
}

function sizesArbitrary(
  { signature, configs, tileDims }: CompiledKernel,
  { maxSize = 150, sizes: fixed = {}, empty = false }: CaseOptions,
  patterned: boolean,
): fc.Arbitrary<Record<string, number>> {
  const chosen = configs.flatMap(({ values }) => Object.values(values));
  const blocks = [...new Set([...chosen, ...tileDims])].filter(
    (value): value is number => typeof value === "number" && value > 1 && value <= maxSize,
  );
  const size = sizeArbitrary(blocks, maxSize);
  const record = (from: fc.Arbitrary<number>, isEmpty = false): fc.Arbitrary<Record<string, number>> => {
    const mayBeEmpty = isEmpty ? emptyable(signature) : [];
    return recordOf(signature.sizes, (name) => [
      name,
      name in fixed
        ? fc.constant(fixed[name]!)
        : mayBeEmpty.includes(name)
          ? fc.constant(0)
          : // The identity goes back: a size that was drawn is one that is allowed.
            from.map(
              (drawn) => allowed(signature, name, drawn),
              (value) => value as number,
            ),
    ]);
  };
  const any = patterned
    ? fc.oneof(
        record(size),
        record(fc.integer({ min: 1, max: Math.max(1, Math.floor(maxSize / 16)) }).map((n) => n * 16)),
        record(fc.constant(1)),
      )
    : record(size);
  return empty && emptyable(signature).some((name) => !(name in fixed))
    ? fc.oneof({ weight: 24, arbitrary: any }, { weight: 1, arbitrary: record(size, true) })
    : any;
}

/** Sizes that may be 0: every output has them, so that all of it is empty, and no input depends on their values. */
function emptyable({ tensors, drawn, multiples = {}, tileSizes = {} }: Signature): readonly string[] {
  if (drawn) return [];
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
  const near = blocks.flatMap((block) => [...boundarySizes(block), 2 * block]).filter((value) => value <= maxSize);
  const anything = fc.integer({ min: 1, max: maxSize });
  const telling = fc.oneof(
    anything,
    ...(near.length > 0 ? [fc.constantFrom(...near), fc.constantFrom(1, 2, 3, 13, 97)] : []),
  );
  // A size of the author's may be larger than what is drawn, and shrinks too.
  return new DrawnFrom(telling, fc.integer({ min: 1, max: 2 ** 31 - 1 }));
}

/** Draws from one arbitrary and shrinks like another: a constant cannot shrink, an integer can. */
class DrawnFrom<T> extends fc.Arbitrary<T> {
  constructor(
    private readonly from: fc.Arbitrary<T>,
    private readonly as: fc.Arbitrary<T>,
  ) {
    super();
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<T> {
    return new fc.Value(this.from.generate(random, bias).value, undefined);
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.as.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.as.shrink(value, context);
  }
}

/** Draws a few times until a value is valid, and repairs the last one otherwise. Shrinks to valid values. */
class Tried<T> extends fc.Arbitrary<T> {
  readonly #right: fc.Arbitrary<T>;

  constructor(
    private readonly any: fc.Arbitrary<T>,
    private readonly again: fc.Arbitrary<T>,
    private readonly isRight: (value: T) => boolean,
    private readonly repair: (value: T) => T,
    private readonly tries: number,
  ) {
    super();
    this.#right = any.filter(isRight);
  }

  override generate(random: fc.Random, bias: number | undefined): fc.Value<T> {
    for (let left = this.tries; ; left--) {
      const from = left === this.tries ? this.any : this.again;
      const { value } = from.generate(random, bias);
      if (this.isRight(value)) return new fc.Value(value, undefined);
      if (left <= 1) return new fc.Value(this.repair(value), undefined);
    }
  }

  override canShrinkWithoutContext(value: unknown): value is T {
    return this.any.canShrinkWithoutContext(value);
  }

  override shrink(value: T, context: unknown): fc.Stream<fc.Value<T>> {
    return this.#right.shrink(value, context);
  }
}

/** Few multiprocessors give each program of a persistent kernel more to do than small sizes would on many. */
const gpuArbitrary: fc.Arbitrary<Partial<DeviceProperties>> = fc.constantFrom<number[]>(1, 3, 132).map(
  (multiProcessorCount) => ({ multiProcessorCount }),
  (gpu) => (gpu as DeviceProperties).multiProcessorCount,
);

function constexprArbitrary({ kind, choices, default: initial }: ConstexprSignature): fc.Arbitrary<Constant> {
  if (choices) return fc.constantFrom(...choices);
  if (kind === "bool") return fc.boolean();
  const around = kind === "int" ? fc.integer({ min: 1, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true });
  return initial === undefined ? around : fc.oneof(fc.constant(initial), around);
}

/** One case in four has them. Drawn by a number, since a list that is written out must shrink too. */
function specialArbitrary(special: readonly SpecialValue[]): fc.Arbitrary<readonly SpecialValue[]> {
  return fc.constantFrom(0, 0, 0, 1).map(
    (has) => (has ? special : []),
    (value) => ((value as readonly SpecialValue[]).length > 0 ? 1 : 0),
  );
}
