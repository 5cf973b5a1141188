/**
 * What Triton specializes a kernel on. For an integer argument: whether it is 1 and whether 16 divides it; for a
 * pointer: whether 16 bytes divide it; for a constexpr: its value (`specialize_impl` of Triton's `jit.py`).
 */
import { cacheKey } from "../../compiled/canonical-json.js";
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";

const ALIGNMENT = 16;

/**
 * A text that is equal for cases that launch the same binaries. Strides are products of sizes, so how often 2 divides a
 * size decides whether 16 divides a stride.
 */
export function specializationOf(kernel: CompiledKernel, at: TestCase): string {
  const numbers = { ...kernel.sizes(at), ...integersOf(kernel, at) };
  const kinds = Object.entries(numbers).map(([name, value]) => [name, kindOf(value)]);
  return cacheKey([at.config, at.dtypes, kernel.constexprs(at), at.layouts, at.absent, at.gpu, kinds]);
}

/** A number near `size` that Triton specializes like `pattern`. */
export function sameSpecialization(pattern: number, size: number): number {
  const kind = kindOf(pattern);
  if (kind === ONE || pattern === 0) return pattern;
  const quotient = Math.max(1, Math.floor(size / kind));
  if (kind === ALIGNMENT) return kind * quotient;
  const odd = quotient % 2 === 1 ? quotient : quotient + 1;
  return Math.max(kind * odd, kind === 1 ? 3 : 0);
}

const ONE = "1";

/** `"1"`, or the largest divisor that is a power of two, up to 16. */
function kindOf(value: number): typeof ONE | number {
  if (value === 1) return ONE;
  let divisor = 1;
  while (divisor < ALIGNMENT && value % (2 * divisor) === 0) divisor *= 2;
  return divisor;
}

function integersOf({ signature }: CompiledKernel, { scalars = {} }: TestCase): Record<string, number> {
  const integers = signature.scalars.filter(({ name, dtype }) => dtype.includes("int") && name in scalars);
  return Object.fromEntries(integers.map(({ name }) => [name, scalars[name]!]));
}
