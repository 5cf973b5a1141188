/**
 * Triton's specialization of a kernel. It depends on whether an integer argument is 1 or divisible by 16, on whether a
 * pointer is 16-byte aligned, and on the value of each constexpr (`specialize_impl` in Triton's `jit.py`).
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";

const ALIGNMENT = 16;

/**
 * A key that is equal for test cases that launch the same binaries. Strides are products of sizes, so the power of two
 * in a size decides whether 16 divides a stride.
 */
export function specializationKey(kernel: CompiledKernel, testCase: TestCase): string {
  const numbers = { ...kernel.sizes(testCase), ...integersOf(kernel, testCase) };
  const divisors = Object.entries(numbers).map(([name, value]) => [name, divisorClass(value)]);
  return cacheKey([
    testCase.config,
    testCase.dtypes,
    kernel.constexprs(testCase),
    testCase.layouts,
    testCase.absent,
    testCase.gpu,
    divisors,
  ]);
}

/** A number near `size` that Triton specializes like `pattern`. */
export function sameSpecialization(pattern: number, size: number): number {
  const divisor = divisorClass(pattern);
  if (divisor === ONE || pattern === 0) return pattern;
  const quotient = Math.max(1, Math.floor(size / divisor));
  if (divisor === ALIGNMENT) return divisor * quotient;
  const odd = quotient % 2 === 1 ? quotient : quotient + 1;
  return Math.max(divisor * odd, divisor === 1 ? 3 : 0);
}

const ONE = "1";

/** `"1"`, or the largest divisor that is a power of two, up to 16. */
function divisorClass(value: number): typeof ONE | number {
  if (value === 1) return ONE;
  let divisor = 1;
  while (divisor < ALIGNMENT && value % (2 * divisor) === 0) divisor *= 2;
  return divisor;
}

/**
 * The case with each size and each integer scalar in turn at 1, which Triton makes a constant, and at 16, of which it
 * knows the divisor. Leaves out what the kernel refuses.
 */
export function specializedCases(
  kernel: CompiledKernel,
  testCase: TestCase,
  fixed: readonly string[] = [],
): readonly TestCase[] {
  const { signature } = kernel;
  const integers = signature.scalars.filter(({ dtype }) => dtype.includes("int")).map(({ name }) => name);
  const isFree = (name: string): boolean => !fixed.includes(name);
  const { sizes, scalars = {} } = testCase;
  const candidates = [1, ALIGNMENT].flatMap((value): TestCase[] => [
    ...Object.keys(sizes)
      .filter(isFree)
      .map((name) => ({ ...testCase, sizes: { ...sizes, [name]: value } })),
    ...integers.filter(isFree).map((name) => ({ ...testCase, scalars: { ...scalars, [name]: value } })),
  ]);
  const byKey = new Map(candidates.map((each) => [specializationKey(kernel, each), each]));
  byKey.delete(specializationKey(kernel, testCase));
  return [...byKey.values()].filter((each) => kernel.refusal(each) === undefined);
}

function integersOf({ signature }: CompiledKernel, { scalars = {} }: TestCase): Record<string, number> {
  const integers = signature.scalars.flatMap(({ name, dtype }) => {
    const value = scalars[name];
    return dtype.includes("int") && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(integers);
}
