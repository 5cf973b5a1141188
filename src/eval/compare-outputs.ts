/** Compares outputs with their reference. The Python worker has the same rules. */
import type { Comparison, TensorData, Tolerance } from "../compiled/compiled-kernel.js";
import type { DTypeName, IntName } from "../types/dtype.js";
import { isFloat } from "../numerics/numeric.js";
import { round } from "../numerics/numeric-float.js";
import { coordinates } from "./findings.js";
import { magnitudes } from "./magnitude.js";
import { wrapInteger } from "../numerics/numeric-int.js";
import { UnsupportedByEvaluator, TorchError } from "../torch/errors.js";

/** What is expected of an output. Integers beyond 2^53 are bigints. */
export interface Expected {
  readonly shape: readonly number[];
  readonly data: ArrayLike<number | bigint>;
}

/** How far each element is off, and what is right. `least` is what an element may be off where it should be 0. */
interface Judged {
  readonly difference: Float64Array;
  readonly isRight: (i: number) => boolean;
  readonly least: (i: number) => number;
}

/**
 * A float is right if it differs from the expected value by at most `atol + rtol * |expected| + rms * magnitude`, if it
 * equals the expected value rounded to the dtype (so an overflow to infinity is right), or if both are NaN. An integer is
 * right if it is the expected one, or up to `atol` from it in no more than the part `share` of the elements.
 *
 * @throws TorchRefuses if the shapes differ.
 * @throws NotEvaluated if a number beyond 2^53 is expected, which need not be the integer that PyTorch gives.
 */
export function compareOutput(output: string, got: TensorData, expected: Expected, tolerance: Tolerance): Comparison {
  const { dtype, shape, data } = got;
  if (shape.join() !== expected.shape.join())
    throw new TorchError(
      `${output} has shape [${shape.join(", ")}], its reference has [${expected.shape.join(", ")}]; return one of ${output}'s shape`,
    );
  const hasFloats = isFloat(dtype as DTypeName);
  const { difference, isRight, least } = hasFloats
    ? judgeFloats(got, Float64Array.from(expected.data, Number), tolerance)
    : judgeIntegers(output, got, expected.data, tolerance);
  let [wrong, maxAbsDiff, maxRelDiff, worst, worstDiff] = [0, 0, 0, -1, -1];
  for (let i = 0; i < data.length; i++) {
    const off = difference[i]!;
    maxAbsDiff = Math.max(maxAbsDiff, off);
    const scale = Math.abs(Number(expected.data[i]));
    if (scale > least(i) && scale < Infinity) maxRelDiff = Math.max(maxRelDiff, off / scale);
    const right = isRight(i);
    if (!right) wrong++;
    // The worst is the wrong element that differs most, or the one that differs most if none is wrong.
    const first = !right && wrong === 1;
    if (first || ((!right || wrong === 0) && off > worstDiff)) [worst, worstDiff] = [i, off];
  }
  const place = {
    output,
    index: coordinates(shape, worst),
    expected: short(expected.data[worst]!),
    got: short(data[worst]!),
  };
  return {
    correct: wrong === 0,
    maxAbsDiff,
    maxRelDiff,
    wrong,
    total: data.length,
    ...(worst >= 0 && { worst: place }),
    ...(!hasFloats && { integers: true }),
  };
}

function judgeFloats({ dtype, shape, data }: TensorData, due: Float64Array, tolerance: Tolerance): Judged {
  const { rtol, atol, rms = 0 } = tolerance;
  const rounded = round(dtype as Parameters<typeof round>[0]);
  const scales = rms > 0 ? magnitudes(shape, due) : undefined;
  const least = (i: number): number => atol + rms * (scales?.[i] ?? 0);
  const isEqual = (i: number): boolean => {
    const [is, right] = [Number(data[i]), due[i]!];
    return is === right || is === rounded(right) || (Number.isNaN(is) && Number.isNaN(right));
  };
  const difference = due.map((right, i) => {
    const distance = Math.abs(Number(data[i]) - right);
    return Number.isFinite(distance) ? distance : isEqual(i) ? 0 : Infinity;
  });
  const isNear = (i: number): boolean =>
    Number.isFinite(due[i]) && difference[i]! <= least(i) + rtol * Math.abs(due[i]!);
  return { difference, isRight: (i) => isEqual(i) || isNear(i), least };
}

function judgeIntegers(
  output: string,
  { dtype, data }: TensorData,
  due: ArrayLike<number | bigint>,
  { atol, share = 0 }: Tolerance,
): Judged {
  const inDType = wrapInteger(dtype as IntName);
  const difference = Float64Array.from(data as ArrayLike<number | bigint>, (is, i) => {
    const right = due[i]!;
    if (Number.isNaN(right)) return Infinity;
    if (typeof right === "number" && !Number.isInteger(right)) return Math.abs(Number(is) - right);
    if (typeof right === "number" && !Number.isSafeInteger(right))
      throw new UnsupportedByEvaluator(`${output} should be ${right}, and numbers beyond 2^53 are not exact here`);
    const wrapped = inDType(right);
    return Math.abs(typeof is === "bigint" ? Number(is - BigInt(wrapped)) : is - Number(wrapped));
  });
  const differing = difference.reduce((count, off) => count + Number(off > 0), 0);
  const steps = differing > Math.ceil(share * data.length) ? 0 : Math.floor(atol);
  return { difference, isRight: (i) => difference[i]! <= steps, least: () => 0 };
}

/** As a number, where that is exact. */
const short = (x: number | bigint): number | bigint => (Number.isSafeInteger(Number(x)) ? Number(x) : x);

/** One comparison for several outputs. */
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
