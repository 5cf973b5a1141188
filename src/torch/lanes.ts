/** What torch's functions compute of one lane: the elements along an axis, or along all that are folded. */
import { total } from "./array.js";

export function largest(lane: Float64Array): number {
  let most = -Infinity;
  for (let i = 0; i < lane.length; i++) most = Math.max(most, lane[i]!);
  return most;
}
export const smallest = (lane: Float64Array): number => lane.reduce((x, y) => Math.min(x, y), Infinity);
export const mean = (lane: Float64Array): number => total(lane) / lane.length;

/** `shift + log Σ exp(x - shift)`; a lane of -inf gives -inf. */
export function logSumExp(lane: Float64Array): number {
  const top = largest(lane);
  if (!Number.isFinite(top)) return top;
  return top + Math.log(lane.reduce((sum, x) => sum + Math.exp(x - top), 0));
}

export function softmax(lane: Float64Array): Float64Array {
  const top = largest(lane);
  const powers = new Float64Array(lane.length);
  for (let i = 0; i < lane.length; i++) powers[i] = Math.exp(lane[i]! - top);
  const sum = total(powers);
  for (let i = 0; i < lane.length; i++) powers[i] = powers[i]! / sum;
  return powers;
}

/** The logarithm of the softmax. */
export function logSoftmax(lane: Float64Array): Float64Array {
  const norm = logSumExp(lane);
  return lane.map((x) => x - norm);
}

/** The mean of squared distances from the mean, where `correction` elements count less. */
export function variance(lane: Float64Array, correction: number): number {
  const middle = mean(lane);
  return lane.reduce((sum, x) => sum + (x - middle) ** 2, 0) / Math.max(lane.length - correction, 0);
}

/** The norm of a power: `(Σ |x|^p)^(1/p)`. */
export function norm(lane: Float64Array, p: number): number {
  if (p === Infinity) return largest(lane.map(Math.abs));
  return lane.reduce((sum, x) => sum + Math.abs(x) ** p, 0) ** (1 / p);
}
