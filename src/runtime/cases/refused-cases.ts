/**
 * Sizes that a kernel or its reference refuses, and the requirement that the kernel lacks if only its reference does.
 * A bound or a divisor of one size is found by asking the reference at other sizes.
 */
import { type CompiledKernel, type TestCase, formatSizes } from "../../compiled/compiled-kernel.js";
import { largestNumel } from "./cases.js";
import { noLaunch } from "../../diagnostics/catalog/proof-codes.js";
import { type Diagnostic, errorDiagnostic } from "../../diagnostics/diagnostic.js";
import { caseOf, declaredShapes } from "./shapes.js";
import { variantsFor } from "./selection.js";

/** Divisors that sizes usually need. */
const DIVISORS = [2, 3, 4, 8, 16, 32, 64, 128, 256] as const;

/** The reference of a larger case takes too long to be asked many times. */
const MAX_NUMEL = 2 ** 16;

/** A size up to which a bound is sought, if no declared shape has a larger one. */
const LARGEST = 256;

/**
 * A `requires` under which the reference takes the sizes around those of the case, where it refuses them now. Undefined
 * if no condition on a single size does.
 */
export function missingRequirement(kernel: CompiledKernel, testCase: TestCase): string | undefined {
  const isTaken = (sizes: Readonly<Record<string, number>>): boolean =>
    kernel.referenceRefusal?.({ ...testCase, sizes }) === undefined;
  if (largestNumel(kernel, testCase) > MAX_NUMEL) return undefined;
  const { sizes } = testCase;
  for (const [name, size] of Object.entries(sizes)) {
    const at = (value: number, others = sizes): boolean => isTaken({ ...others, [name]: value });
    const divisor = DIVISORS.find((each) => size % each !== 0 && isDivisor(each, size, at));
    if (divisor !== undefined) return `({ ${name} }) => [${name}.mod(${divisor}).eq(0)]`;
    const bound = boundOf(size, Math.max(LARGEST, ...kernel.shapes.map((shape) => shape[name] ?? 0)), at);
    if (!bound) continue;
    const [method, value] = bound;
    const other = Object.keys(sizes).find((key) => key !== name && isSameBound(key, name, bound, sizes, isTaken));
    return other === undefined
      ? `({ ${name} }) => [${name}.${method}(${value})]`
      : `({ ${name}, ${other} }) => [${name}.${method}(${other})]`;
  }
  return undefined;
}

/** True if the multiples of a number around a size are taken, and what lies beside them is not. */
function isDivisor(divisor: number, size: number, at: (value: number) => boolean): boolean {
  const below = Math.floor(size / divisor) * divisor;
  const multiples = [below, below + divisor, below + 3 * divisor].filter((each) => each > 0);
  return multiples.every((each) => at(each) && !at(each + 1) && !at(each + divisor - 1));
}

type Bound = readonly [method: "ge" | "le", value: number];

/** The nearest size from which on, or up to which, all are taken. */
function boundOf(size: number, largest: number, at: (value: number) => boolean): Bound | undefined {
  const search = (from: number, to: number): number => {
    let [refused, taken] = [from, to];
    while (Math.abs(taken - refused) > 1) {
      const middle = Math.trunc((refused + taken) / 2);
      if (at(middle)) taken = middle;
      else refused = middle;
    }
    return taken;
  };
  const isClear = (value: number, step: 1 | -1): boolean =>
    [0, 1, 2, 3, 5].every((distance) => value + step * distance < 1 || at(value + step * distance)) &&
    !at(value - step);
  if (size < largest && at(largest)) {
    const value = search(size, largest);
    return isClear(value, 1) ? ["ge", value] : undefined;
  }
  if (size <= 1 || !at(1)) return undefined;
  const value = search(size, 1);
  return isClear(value, -1) ? ["le", value] : undefined;
}

/** True if a bound is another size: it moves with it. */
function isSameBound(
  other: string,
  name: string,
  [method, value]: Bound,
  sizes: Readonly<Record<string, number>>,
  isTaken: (sizes: Readonly<Record<string, number>>) => boolean,
): boolean {
  const step = method === "ge" ? -1 : 1;
  return [value, value + 4, value + 9].every(
    (size) =>
      (sizes[other] === value || size !== value) &&
      isTaken({ ...sizes, [other]: size, [name]: size }) &&
      !isTaken({ ...sizes, [other]: size, [name]: size + step }),
  );
}

// Declared shapes that a kernel refuses: nothing would verify or measure them.

/** The largest number of elements of a case whose reference `check` evaluates. */
const MAX_REFUSED_NUMEL = 2 ** 14;

/** An error for each declared shape that no config takes, with the first config's reason, or that the reference refuses. */
export function refusedShapes(kernel: CompiledKernel): readonly Diagnostic[] {
  const [variant] = variantsFor(kernel, { seed: 0 });
  if (!variant) return [];
  return declaredShapes(kernel).flatMap((shape) => {
    const cases = kernel.configs.map((_, config) => caseOf(kernel, shape, variant, "contiguous", config, 0));
    const accepted = cases.find((each) => kernel.refusal(each) === undefined);
    const [first] = cases;
    if (accepted)
      return largestNumel(kernel, accepted) <= MAX_REFUSED_NUMEL ? (kernel.referenceRefusal?.(accepted) ?? []) : [];
    const refusal = first && kernel.refusal(first);
    if (refusal === undefined) return [];
    const message = noLaunch.declared(kernel.signature.name, formatSizes(shape.sizes), refusal);
    return [errorDiagnostic(message, kernel.at)];
  });
}
