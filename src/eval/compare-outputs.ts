/** Compares outputs with their reference. The Python worker applies the same rules. */
import type { Comparison, TensorData, Tolerance } from "../compiled/compiled-kernel.js";
import type { DTypeName, IntName } from "../types/dtype.js";
import { isFloat } from "../numerics/numeric.js";
import { round } from "../numerics/numeric-float.js";
import { coordinates } from "./findings.js";
import { magnitudes } from "./magnitude.js";
import { wrapInteger } from "../numerics/numeric-int.js";
import { UnsupportedByEvaluator, TorchError } from "../torch/errors.js";

/** Expected elements of an output. Integers beyond 2^53 are bigints. */
export interface Expected {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** Errors of an output's elements. `absoluteTolerance` is the error allowed where 0 is expected. */
interface ElementErrors {
  readonly difference: Float64Array;
  readonly isCorrect: (i: number) => boolean;
  readonly absoluteTolerance: (i: number) => number;
}

/**
 * A float is correct if it differs from the expected value by at most `atol + rtol * |expected| + rms * magnitude`, if
 * it equals the expected value rounded to the dtype (so overflow to infinity is correct), or if both are NaN. An
 * integer is correct if it equals the expected one. It may also differ by up to `atol`, if at most a fraction `share`
 * of all elements differ.
 *
 * @throws TorchError if the shapes differ.
 * @throws UnsupportedByEvaluator if a number beyond 2^53 is expected, because PyTorch may compute another integer.
 */
export function compareOutput(
  output: string,
  actual: TensorData,
  expected: Expected,
  tolerance: Tolerance,
): Comparison {
  const { dtype, shape, data } = actual;
  if (shape.join() !== expected.shape.join())
    throw new TorchError(
      `${output} has shape [${shape.join(", ")}], its reference has [${expected.shape.join(", ")}]; return one of ${output}'s shape`,
    );
  const hasFloats = isFloat(dtype as DTypeName);
  const { difference, isCorrect, absoluteTolerance } = hasFloats
    ? compareFloats(actual, Float64Array.from(expected.data, Number), tolerance)
    : compareIntegers(output, actual, expected.data, tolerance);
  let [wrong, maxAbsDiff, maxRelDiff, worst, worstDiff] = [0, 0, 0, -1, -1];
  for (let i = 0; i < data.length; i++) {
    const elementDifference = difference[i]!;
    maxAbsDiff = Math.max(maxAbsDiff, elementDifference);
    const scale = Math.abs(Number(expected.data[i]));
    if (scale > absoluteTolerance(i) && scale < Infinity) maxRelDiff = Math.max(maxRelDiff, elementDifference / scale);
    const isElementCorrect = isCorrect(i);
    if (!isElementCorrect) wrong++;
    // The worst element is the incorrect one with the largest error, or the one with the largest error if all are
    // correct.
    const isFirstWrong = !isElementCorrect && wrong === 1;
    if (isFirstWrong || ((!isElementCorrect || wrong === 0) && elementDifference > worstDiff))
      [worst, worstDiff] = [i, elementDifference];
  }
  const worstElement = {
    output,
    index: coordinates(shape, worst),
    expected: toSafeNumber(expected.data[worst]!),
    got: toSafeNumber(data[worst]!),
  };
  return {
    correct: wrong === 0,
    maxAbsDiff,
    maxRelDiff,
    wrong,
    total: data.length,
    ...(worst >= 0 && { worst: worstElement }),
    ...(!hasFloats && { integers: true }),
  };
}

function compareFloats(
  { dtype, shape, data }: TensorData,
  expected: Float64Array,
  tolerance: Tolerance,
): ElementErrors {
  const { rtol, atol, rms = 0 } = tolerance;
  const rounded = round(dtype as Parameters<typeof round>[0]);
  const scales = rms > 0 ? magnitudes(shape, expected) : undefined;
  const absoluteTolerance = (i: number): number => atol + rms * (scales?.[i] ?? 0);
  const isEqual = (i: number): boolean => {
    const [actual, expectedValue] = [Number(data[i]), expected[i]!];
    return (
      actual === expectedValue ||
      actual === rounded(expectedValue) ||
      (Number.isNaN(actual) && Number.isNaN(expectedValue))
    );
  };
  const difference = expected.map((expectedValue, i) => {
    const distance = Math.abs(Number(data[i]) - expectedValue);
    if (Number.isFinite(distance)) return distance;
    return isEqual(i) ? 0 : Infinity;
  });
  const isNear = (i: number): boolean =>
    Number.isFinite(expected[i]) && difference[i]! <= absoluteTolerance(i) + rtol * Math.abs(expected[i]!);
  return { difference, isCorrect: (i) => isEqual(i) || isNear(i), absoluteTolerance };
}

function compareIntegers(
  output: string,
  { dtype, data }: TensorData,
  expected: ArrayLike<number | bigint>,
  { atol, share = 0 }: Tolerance,
): ElementErrors {
  const wrap = wrapInteger(dtype as IntName);
  const difference = Float64Array.from(data as ArrayLike<number | bigint>, (actual, i) => {
    const expectedValue = expected[i]!;
    if (Number.isNaN(expectedValue)) return Infinity;
    if (typeof expectedValue === "number" && !Number.isInteger(expectedValue))
      return Math.abs(Number(actual) - expectedValue);
    if (typeof expectedValue === "number" && !Number.isSafeInteger(expectedValue))
      throw new UnsupportedByEvaluator(
        `${output} should be ${expectedValue}, and numbers beyond 2^53 are not exact here`,
      );
    const wrapped = wrap(expectedValue);
    return Math.abs(typeof actual === "bigint" ? Number(actual - BigInt(wrapped)) : actual - Number(wrapped));
  });
  const differing = difference.reduce((count, delta) => count + Number(delta > 0), 0);
  const steps = differing > Math.ceil(share * data.length) ? 0 : Math.floor(atol);
  return { difference, isCorrect: (i) => difference[i]! <= steps, absoluteTolerance: () => 0 };
}

/** Converts a bigint to a number if that is exact. */
const toSafeNumber = (x: number | bigint): number | bigint => (Number.isSafeInteger(Number(x)) ? Number(x) : x);

export function mergeComparisons(comparisons: readonly Comparison[]): Comparison {
  return comparisons.reduce((a, b) => {
    const isWorse = a.correct === b.correct ? b.maxAbsDiff > a.maxAbsDiff : !b.correct;
    const [first, second] = isWorse ? [b, a] : [a, b];
    const { worst, integers } = first.worst ? first : second;
    return {
      correct: a.correct && b.correct,
      maxAbsDiff: Math.max(a.maxAbsDiff, b.maxAbsDiff),
      maxRelDiff: Math.max(a.maxRelDiff, b.maxRelDiff),
      wrong: a.wrong + b.wrong,
      total: a.total + b.total,
      ...(worst && { worst }),
      ...(integers && { integers }),
    };
  });
}
