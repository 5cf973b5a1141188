/** Compares outputs with their reference. The Python worker applies the same rules. */
import type { Comparison, TensorData, Tolerance } from "../compiled/compiled-kernel.js";
import type { DTypeName, IntName } from "../types/dtype.js";
import { round } from "../numerics/numeric-float.js";
import { coordinates } from "./findings.js";
import { wrapInteger, isFloat } from "../numerics/numeric-int.js";
import { UnsupportedByEvaluator, TorchError } from "../torch/array.js";
import { sizeOf } from "../numerics/array.js";

/** Expected elements of an output. Integers beyond 2^53 are bigints. */
export interface Expected {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** Errors of an output's elements. `absoluteTolerance` is the error allowed where 0 is expected. */
interface ElementErrors {
  readonly difference: Float64Array;
  /** 1 for each correct element. */
  readonly correct: Uint8Array;
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
  const { difference, correct, absoluteTolerance } = hasFloats
    ? compareFloats(actual, Float64Array.from(expected.data, Number), tolerance)
    : compareIntegers(output, actual, expected.data, tolerance);
  let [wrong, maxAbsDiff, maxRelDiff, worst, worstDiff] = [0, 0, 0, -1, -1];
  for (const [i, elementDifference] of difference.entries()) {
    maxAbsDiff = Math.max(maxAbsDiff, elementDifference);
    const scale = Math.abs(Number(expected.data[i]));
    if (scale > absoluteTolerance(i) && scale < Infinity) maxRelDiff = Math.max(maxRelDiff, elementDifference / scale);
    const isElementCorrect = correct[i] === 1;
    if (!isElementCorrect) wrong++;
    // The worst element is the incorrect one with the largest error, or the one with the largest error if all are
    // correct.
    const isFirstWrong = !isElementCorrect && wrong === 1;
    if (isFirstWrong || ((!isElementCorrect || wrong === 0) && elementDifference > worstDiff))
      [worst, worstDiff] = [i, elementDifference];
  }
  const [worstExpected, worstActual] = [expected.data[worst], data[worst]];
  const worstElement =
    worstExpected === undefined || worstActual === undefined
      ? undefined
      : {
          output,
          index: coordinates(shape, worst),
          expected: toSafeNumber(worstExpected),
          got: toSafeNumber(worstActual),
        };
  return {
    correct: wrong === 0,
    maxAbsDiff,
    maxRelDiff,
    wrong,
    total: data.length,
    ...(worstElement && { worst: worstElement }),
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
  const isEqual = (actual: number, expectedValue: number): boolean =>
    actual === expectedValue ||
    actual === rounded(expectedValue) ||
    (Number.isNaN(actual) && Number.isNaN(expectedValue));
  const correct = new Uint8Array(expected.length);
  const difference = expected.map((expectedValue, i) => {
    const actual = Number(data[i]);
    const distance = Math.abs(actual - expectedValue);
    const limit = absoluteTolerance(i) + rtol * Math.abs(expectedValue);
    const isNear = Number.isFinite(expectedValue) && distance <= limit;
    correct[i] = Number(isNear || isEqual(actual, expectedValue));
    if (Number.isFinite(distance)) return distance;
    return isEqual(actual, expectedValue) ? 0 : Infinity;
  });
  return { difference, correct, absoluteTolerance };
}

function compareIntegers(
  output: string,
  { dtype, data }: TensorData,
  expected: ArrayLike<number | bigint>,
  { atol, share = 0 }: Tolerance,
): ElementErrors {
  const wrap = wrapInteger(dtype as IntName);
  const difference = Float64Array.from(expected, (expectedValue, i) => {
    const actual = data[i];
    if (Number.isNaN(expectedValue)) return Infinity;
    if (typeof expectedValue === "number" && !Number.isInteger(expectedValue))
      return Math.abs(Number(actual) - expectedValue);
    if (typeof expectedValue === "number" && !Number.isSafeInteger(expectedValue))
      throw new UnsupportedByEvaluator(
        `${output} should be ${expectedValue}, and numbers beyond 2^53 are not exact here`,
      );
    const wrapped = wrap(expectedValue);
    return Math.abs(typeof actual === "bigint" ? Number(actual - BigInt(wrapped)) : Number(actual) - Number(wrapped));
  });
  const differing = difference.reduce((count, delta) => count + Number(delta > 0), 0);
  const steps = differing > Math.ceil(share * data.length) ? 0 : Math.floor(atol);
  const correct = Uint8Array.from(difference, (delta) => Number(delta <= steps));
  return { difference, correct, absoluteTolerance: () => 0 };
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

// The scale of rounding errors of an output's elements. The Python worker applies the same rule.

/** Minimum ratio between a fill constant and the root mean square of the other elements. */
const MIN_FILL_RATIO = 2 ** 10;

/**
 * The scale of each element: the maximum root mean square of all elements, and of each slice along one axis through the
 * element. An element that cancels to nearly zero keeps the rounding error of its terms. Rows may differ in magnitude,
 * as in causal attention. Fill constants are excluded, as in {@link magnitude}.
 */
export function magnitudes(shape: readonly number[], data: ArrayLike<number>): Float64Array {
  const { largest: maxAbs, whole: rms } = spreadWithoutFills(data);
  const scales = new Float64Array(data.length).fill(rms);
  if (maxAbs === 0 || shape.length < 2) return scales;
  for (const [axis, length] of shape.entries())
    if (length > 1) raiseScalesAlong(scales, data, maxAbs, length, sizeOf(shape.slice(axis + 1)));
  return scales;
}

/** Raises scales to the root mean square along an axis of this length and stride. */
function raiseScalesAlong(
  scales: Float64Array,
  data: ArrayLike<number>,
  maxAbs: number,
  length: number,
  stride: number,
): void {
  const sliceOf = (i: number): number => Math.floor(i / (stride * length)) * stride + (i % stride);
  const squares = new Float64Array(data.length / length);
  const counts = new Float64Array(squares.length);
  for (let i = 0; i < data.length; i++) {
    const absolute = Math.abs(data[i]!);
    if (!(absolute <= maxAbs)) continue;
    squares[sliceOf(i)]! += (absolute / maxAbs) ** 2;
    counts[sliceOf(i)]!++;
  }
  const sliceScales = squares.map((sum, slice) => maxAbs * Math.sqrt(sum / Math.max(1, counts[slice]!)));
  for (const [i, scale] of scales.entries()) scales[i] = Math.max(scale, sliceScales[sliceOf(i)]!);
}

/**
 * The root mean square of the finite elements. A fill constant, such as -1e9 for masked scores, is excluded if it is
 * far larger than the root mean square of the other elements.
 */
export function magnitude(data: ArrayLike<number>): number {
  return spreadWithoutFills(data).whole;
}

/** The maximum absolute value and the root mean square, without fill constants. */
function spreadWithoutFills(data: ArrayLike<number>): { readonly largest: number; readonly whole: number } {
  let limit = Infinity;
  for (;;) {
    const { largest, times, others, whole } = spreadBelow(data, limit);
    const isFill = times > 1 && others > 0 && largest > MIN_FILL_RATIO * others;
    if (!isFill) return { largest, whole };
    limit = largest;
  }
}

/**
 * For the elements below `limit` in absolute value: their maximum, its count, and the root mean square of the others
 * and of all.
 */
function spreadBelow(data: ArrayLike<number>, limit: number) {
  let [largest, times, count] = [0, 0, 0];
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i]!);
    if (!(size < limit)) continue;
    count++;
    if (size > largest) [largest, times] = [size, 1];
    else if (size === largest) times++;
  }
  if (largest === 0) return { largest, times, others: 0, whole: 0 };
  // Scaled by the maximum, because squares of large float64 values overflow.
  let sum = 0;
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i]!);
    if (size < largest) sum += (size / largest) ** 2;
  }
  const rms = (squares: number, length: number) => (length === 0 ? 0 : largest * Math.sqrt(squares / length));
  return { largest, times, others: rms(sum, count - times), whole: rms(sum + times, count) };
}
