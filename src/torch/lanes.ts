/** Functions of one lane: the elements along an axis, or along all reduced axes. */
import { total } from "./array.js";

export function largest(lane: Float64Array): number {
  let max = -Infinity;
  for (const x of lane) max = Math.max(max, x);
  return max;
}
export const smallest = (lane: Float64Array): number => lane.reduce((x, y) => Math.min(x, y), Infinity);
export const mean = (lane: Float64Array): number => total(lane) / lane.length;

/** `shift + log Σ exp(x - shift)`. A lane of -inf gives -inf. */
export function logSumExp(lane: Float64Array): number {
  const max = largest(lane);
  if (!Number.isFinite(max)) return max;
  return max + Math.log(lane.reduce((sum, x) => sum + Math.exp(x - max), 0));
}

export function softmax(lane: Float64Array): Float64Array {
  const max = largest(lane);
  const powers = lane.map((x) => Math.exp(x - max));
  const sum = total(powers);
  return powers.map((power) => power / sum);
}

/** The logarithm of the softmax. */
export function logSoftmax(lane: Float64Array): Float64Array {
  const norm = logSumExp(lane);
  return lane.map((x) => x - norm);
}

/** The sum of squared deviations from the mean, divided by the length minus `correction`. */
export function variance(lane: Float64Array, correction: number): number {
  const average = mean(lane);
  return lane.reduce((sum, x) => sum + (x - average) ** 2, 0) / Math.max(lane.length - correction, 0);
}

/** The p-norm: `(Σ |x|^p)^(1/p)`. */
export function norm(lane: Float64Array, p: number): number {
  if (p === Infinity) return largest(lane.map(Math.abs));
  return lane.reduce((sum, x) => sum + Math.abs(x) ** p, 0) ** (1 / p);
}
