/** Compares outputs with their reference. The Python worker has the same rules. */
import type { Comparison, TensorData, Tolerance } from "../contract/compiled.js";
import type { DTypeName } from "../types/dtype.js";
import { isFloat } from "../numerics/numeric.js";
import { round } from "../numerics/numeric-float.js";
import { coordinates } from "./findings.js";
import { magnitudes } from "./magnitude.js";
import type { TorchArray } from "../torch/torch-array.js";
import { TorchRefuses } from "../torch/not-evaluated.js";

/**
 * An element is right if it differs from the expected value by at most `atol + rtol * |expected| + rms * magnitude`, if it
 * equals the expected value rounded to the dtype (so an overflow to infinity is right), or if both are NaN. Integers must be
 * equal.
 *
 * @throws TorchRefuses if the shapes differ.
 */
export function compareOutput(
  output: string,
  got: TensorData,
  expected: TorchArray,
  { rtol, atol, rms = 0 }: Tolerance,
): Comparison {
  const { dtype, shape, data } = got;
  if (shape.join() !== expected.shape.join())
    throw new TorchRefuses(
      `${output} has shape [${shape.join(", ")}], its reference has [${expected.shape.join(", ")}]; return one of ${output}'s shape`,
    );
  const inexact = isFloat(dtype as DTypeName);
  const rounded = isFloat(dtype as DTypeName) ? round(dtype as Parameters<typeof round>[0]) : (x: number) => x;
  const scales = rms > 0 && inexact ? magnitudes(shape, expected.data) : undefined;
  let [wrong, maxAbsDiff, maxRelDiff, worst, worstDiff] = [0, 0, 0, -1, -1];
  for (let i = 0; i < data.length; i++) {
    const [is, due] = [Number(data[i]), expected.data[i]!];
    const least = atol + rms * (scales?.[i] ?? 0);
    const isEqual = is === due || is === rounded(due) || (Number.isNaN(is) && Number.isNaN(due));
    const distance = Math.abs(is - due);
    const difference = Number.isFinite(distance) ? distance : isEqual ? 0 : Infinity;
    const isRight = isEqual || (inexact && Number.isFinite(due) && difference <= least + rtol * Math.abs(due));
    maxAbsDiff = Math.max(maxAbsDiff, difference);
    const scale = Math.abs(due);
    if (scale > least && scale < Infinity) maxRelDiff = Math.max(maxRelDiff, difference / scale);
    if (!isRight) wrong++;
    // The worst is the wrong element that differs most, or the one that differs most if none is wrong.
    const first = !isRight && wrong === 1;
    if (first || ((!isRight || wrong === 0) && difference > worstDiff)) [worst, worstDiff] = [i, difference];
  }
  const place = { output, index: coordinates(shape, worst), expected: expected.data[worst]!, got: Number(data[worst]) };
  return {
    correct: wrong === 0,
    maxAbsDiff,
    maxRelDiff,
    wrong,
    total: data.length,
    ...(worst >= 0 && { worst: place }),
  };
}

/** One comparison for several outputs. */
export function joined(comparisons: readonly Comparison[]): Comparison {
  return comparisons.reduce((a, b) => {
    const isWorse = a.correct === b.correct ? b.maxAbsDiff > a.maxAbsDiff : !b.correct;
    const worst = (isWorse ? b.worst : undefined) ?? a.worst ?? b.worst;
    return {
      correct: a.correct && b.correct,
      maxAbsDiff: Math.max(a.maxAbsDiff, b.maxAbsDiff),
      maxRelDiff: Math.max(a.maxRelDiff, b.maxRelDiff),
      wrong: a.wrong + b.wrong,
      total: a.total + b.total,
      ...(worst && { worst }),
    };
  });
}
