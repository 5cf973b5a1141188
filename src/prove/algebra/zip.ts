/** The pairs of elements at the same position of two lists of the same length. */
export function zip<X, Y>(xs: readonly X[], ys: readonly Y[]): readonly (readonly [X, Y])[] {
  if (xs.length !== ys.length) throw new RangeError(`lists of ${xs.length} and ${ys.length} elements have no pairs`);
  return xs.map((x, i) => [x, ys[i]!]);
}
