/** The scale that rounding errors of an output's elements are judged by. The Python worker has the same rule. */
import { sizeOf } from "../numerics/array.js";

/** A constant that fills elements is this much larger than what stands beside it. */
const FILL = 2 ** 10;

/**
 * The scale of each element: the largest root mean square of all elements, or of those that share every index with it but
 * one. An element that cancels to nearly zero keeps the error of what canceled; and rows may differ in magnitude, as those
 * of causal attention do. What `magnitude` leaves out is left out here.
 */
export function magnitudes(shape: readonly number[], data: ArrayLike<number>): Float64Array {
  const { largest, whole } = counted(data);
  const scales = new Float64Array(data.length).fill(whole);
  if (largest === 0 || shape.length < 2) return scales;
  for (const [axis, length] of shape.entries())
    if (length > 1) raiseAlong(scales, data, largest, length, sizeOf(shape.slice(axis + 1)));
  return scales;
}

/** Raises scales to the root mean square along an axis of this length, whose elements are `apart` from each other. */
function raiseAlong(
  scales: Float64Array,
  data: ArrayLike<number>,
  largest: number,
  length: number,
  apart: number,
): void {
  const lane = (i: number): number => Math.floor(i / (apart * length)) * apart + (i % apart);
  const squares = new Float64Array(data.length / length);
  const counts = new Float64Array(squares.length);
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i]!);
    if (!(size <= largest)) continue;
    squares[lane(i)]! += (size / largest) ** 2;
    counts[lane(i)]!++;
  }
  for (let i = 0; i < data.length; i++) {
    const scale = largest * Math.sqrt(squares[lane(i)]! / Math.max(1, counts[lane(i)]!));
    if (scale > scales[i]!) scales[i] = scale;
  }
}

/**
 * The root mean square of the finite elements. A constant that fills elements (-1e9 for what is masked) tells nothing of
 * the others, so if it is far larger than their root mean square, it is left out.
 */
export function magnitude(data: ArrayLike<number>): number {
  return counted(data).whole;
}

/** The largest element that counts, in size, and the root mean square of all that do. */
function counted(data: ArrayLike<number>): { readonly largest: number; readonly whole: number } {
  let below = Infinity;
  for (;;) {
    const { largest, times, others, whole } = spreadBelow(data, below);
    const fills = times > 1 && others > 0 && largest > FILL * others;
    if (!fills) return { largest, whole };
    below = largest;
  }
}

/** Of the elements smaller than `below`: the largest, how often it occurs, and the mean of the others and of all. */
function spreadBelow(data: ArrayLike<number>, below: number) {
  let [largest, times, count] = [0, 0, 0];
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i]!);
    if (!(size < below)) continue;
    count++;
    if (size > largest) [largest, times] = [size, 1];
    else if (size === largest) times++;
  }
  if (largest === 0) return { largest, times, others: 0, whole: 0 };
  // Squares of float64's largest numbers overflow, so they are taken relative to the largest.
  let sum = 0;
  for (let i = 0; i < data.length; i++) {
    const size = Math.abs(data[i]!);
    if (size < largest) sum += (size / largest) ** 2;
  }
  const rms = (squares: number, of: number) => (of === 0 ? 0 : largest * Math.sqrt(squares / of));
  return { largest, times, others: rms(sum, count - times), whole: rms(sum + times, count) };
}
