/** The scale of rounding errors of an output's elements. The Python worker applies the same rule. */
import { sizeOf } from "../numerics/array.js";

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
