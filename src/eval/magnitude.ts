/** The scale that rounding errors of an output's elements are judged by. The Python worker has the same rule. */

/** A constant that fills elements is this much larger than what stands beside it. */
const FILL = 2 ** 10;

/**
 * The root mean square of the finite elements: an element that cancels to nearly zero keeps the error of what cancelled.
 * A constant that fills elements (-1e9 for what is masked) tells nothing of the others, so if it is far larger than their
 * root mean square, it is left out.
 */
export function magnitude(data: ArrayLike<number>): number {
  let below = Infinity;
  for (;;) {
    const { largest, times, others, whole } = spreadBelow(data, below);
    const fills = times > 1 && others > 0 && largest > FILL * others;
    if (!fills) return whole;
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
