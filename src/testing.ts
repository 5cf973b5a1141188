/** Property tests of kernels, and matchers: `import { cases, matchers } from "tilescript/testing"`. */
import fc from "fast-check";
import type { Case, CompiledKernel, ConstexprSignature, Layout, TensorSignature } from "./compiled.js";
import { allowed } from "./runtime/cases.js";

export { type KernelMatchers, matchers, type VerifyMatcherOptions } from "./matchers.js";

export interface CaseOptions {
  /** The largest value of a size. Default 150. */
  readonly maxSize?: number;
  /** The largest product of all sizes, which bounds the time of a case. Default 2^20. */
  readonly maxWork?: number;
  /** Sizes that every case has. */
  readonly sizes?: Readonly<Record<string, number>>;
}

/**
 * Cases of a kernel, drawn from its signature: sizes at and around multiples of its blocks, ones, primes and anything
 * between; every dtype and config; inputs that are transposed, sliced or start inside a buffer. Shrinks to small sizes.
 */
export function cases(kernel: CompiledKernel, options: CaseOptions = {}): fc.Arbitrary<Case> {
  const { signature } = kernel;
  const { maxSize = 150, maxWork = 2 ** 20, sizes: fixed = {} } = options;
  const size = sizeArbitrary(kernel, maxSize);
  const sizeOf = (name: string) => size.map((drawn) => allowed(signature, name, drawn));
  const sizes = fc.record(
    Object.fromEntries(signature.sizes.map((name) => [name, name in fixed ? fc.constant(fixed[name]!) : sizeOf(name)])),
  );
  const dtypes = fc.record(
    Object.fromEntries(Object.entries(signature.dtypes).map(([name, members]) => [name, fc.constantFrom(...members)])),
  );
  const inputs = signature.tensors.filter((tensor) => tensor.role !== "out");
  const layouts = fc.record(Object.fromEntries(inputs.map((tensor) => [tensor.name, layoutArbitrary(tensor)])));
  const config = fc.nat({ max: kernel.configs.length - 1 });
  const seed = fc.nat({ max: 2 ** 31 - 1 });
  const scalars = fc.record(
    Object.fromEntries(
      signature.scalars.map(({ name, dtype }) => [
        name,
        dtype.includes("int") ? fc.integer({ min: 0, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true }),
      ]),
    ),
  );
  const drawn = signature.constexprs.filter(({ from, kind }) => from === "argument" && kind !== "dtype");
  const constexprs = fc.record(Object.fromEntries(drawn.map((each) => [each.name, constexprArbitrary(each)])));
  return fc
    .record({ sizes, dtypes, layouts, config, seed, scalars, constexprs })
    .filter((at) => Object.values(at.sizes).reduce((product, value) => product * value, 1) <= maxWork)
    .filter((at) => kernel.refusal(at) === undefined);
}

function sizeArbitrary(kernel: CompiledKernel, maxSize: number): fc.Arbitrary<number> {
  const blocks = [...new Set(kernel.configs.flatMap(({ values }) => Object.values(values)))].filter(
    (value): value is number => typeof value === "number" && value > 1 && value <= maxSize,
  );
  const near = blocks.flatMap((block) => [block - 1, block, block + 1, 2 * block]).filter((value) => value <= maxSize);
  const anything = fc.integer({ min: 1, max: maxSize });
  return near.length === 0 ? anything : fc.oneof(anything, fc.constantFrom(...near), fc.constantFrom(1, 2, 3, 13, 97));
}

function constexprArbitrary({ kind, choices, default: initial }: ConstexprSignature): fc.Arbitrary<Constant> {
  if (choices) return fc.constantFrom(...choices);
  if (kind === "bool") return fc.boolean();
  const around = kind === "int" ? fc.integer({ min: 1, max: 5 }) : fc.float({ min: -2, max: 2, noNaN: true });
  return initial === undefined ? around : fc.oneof(fc.constant(initial), around);
}

type Constant = number | boolean | string;

function layoutArbitrary({ contiguous, dims, described }: TensorSignature): fc.Arbitrary<Layout> {
  if (described) return fc.constant("contiguous");
  if (contiguous) return fc.constantFrom<Layout>("contiguous", "offset");
  return dims.length < 2
    ? fc.constantFrom<Layout>("contiguous", "sliced", "offset")
    : fc.constantFrom<Layout>("contiguous", "transposed", "sliced", "offset");
}
