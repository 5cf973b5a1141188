/** Integers that nobody gives, moved into the ranges that the kernel declares for them. */
import { type TestCase, type CompiledKernel, passedConstexprs } from "../../compiled/compiled-kernel.js";

/** The case with each number of `free` moved into its declared range by as much as it lies outside, modulo the range. */
export function clampToRanges(kernel: CompiledKernel, at: TestCase, free: (name: string) => boolean): TestCase {
  const { scalars, constexprs } = kernel.signature;
  const ranged = [...scalars, ...passedConstexprs({ constexprs })].filter(({ name, range }) => range && free(name));
  if (ranged.length === 0) return at;
  const ranges = kernel.ranges(at);
  const moved = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(
      Object.entries(values).map(([name, value]) => {
        const range = ranged.some((each) => each.name === name) ? ranges[name] : undefined;
        return [name, range && typeof value === "number" ? (numberIn(value, range) as T) : value];
      }),
    );
  return {
    ...at,
    ...(at.scalars && { scalars: moved(at.scalars) }),
    ...(at.constexprs && { constexprs: moved(at.constexprs) }),
  };
}

/** An integer of the range; the number itself if it lies there, or if nothing does. */
function numberIn(value: number, [low, end]: readonly [number, number]): number {
  if ((value >= low && value < end) || low >= end) return value;
  if (!Number.isFinite(end)) return low;
  if (!Number.isFinite(low)) return end - 1;
  const span = end - low;
  return low + ((((value - low) % span) + span) % span);
}
