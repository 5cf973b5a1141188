/** Clamps generated integers to the ranges that the kernel declares. */
import { type TestCase, type CompiledKernel, passedConstexprs } from "../../compiled/compiled-kernel.js";

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
