/**
 * What libdevice's functions make of subnormal float32s. Triton has libdevice compiled to flush them, but only its
 * intrinsics heed that: plain products and comparisons among them see subnormals, so that functions differ. The names
 * below are by what an H200 gives.
 */

type Flush = (x: number) => number;

/** The least normal float32. */
export const LEAST = 2 ** -126;
const flushBelow =
  (least: number): Flush =>
  (x) =>
    Math.abs(x) >= least || Number.isNaN(x) ? x : x < 0 || Object.is(x, -0) ? -0 : 0;
/** The value, or for a subnormal float32 the zero of its sign. */
export const flush = flushBelow(LEAST);
/** The same of float64. */
export const flush64 = flushBelow(2 ** -1022);
const keep: Flush = (x) => x;
const instead =
  (zero: Flush): Flush =>
  (x) =>
    x !== 0 && Math.abs(x) < LEAST ? zero(x) : x;

/** Operands that are not flushed to zeros of their signs. */
const operands: readonly (readonly [names: string, Flush])[] = [
  ["copysign erfinv ldexp log log10 log2 logb pow scalbn tgamma", keep],
  ["expm1 log1p sinpi", instead(() => 0)],
  // Negative ones are outside the domain.
  ["normcdfinv y0 y1 yn", instead((x) => (x < 0 ? NaN : 0))],
  ["cbrt rcbrt", instead(() => NaN)],
];
/** Functions that give subnormals. */
const gives = "copysign erfc erfinv j1 ldexp nextafter rhypot rnorm3d rnorm4d scalbn tgamma";
const has = (names: string, name: string) => names.split(" ").includes(name);

/** How a function takes a float32, and how it gives one. */
export const subnormals = (name: string): { readonly operand: Flush; readonly result: Flush } => ({
  operand: operands.find(([names]) => has(names, name))?.[1] ?? flush,
  result: has(gives, name) ? keep : flush,
});
