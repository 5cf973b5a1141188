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

function integersOf({ signature }: CompiledKernel, { scalars = {} }: TestCase): Record<string, number> {
  const integers = signature.scalars.flatMap(({ name, dtype }) => {
    const value = scalars[name];
    return dtype.includes("int") && value !== undefined ? [[name, value] as const] : [];
  });
  return Object.fromEntries(integers);
}
