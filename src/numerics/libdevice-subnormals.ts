/**
 * How libdevice's functions treat subnormal float32s. Triton compiles libdevice to flush them, but only intrinsics
 * obey: plain products and comparisons see subnormals, so functions differ. The lists below follow an H200.
 */

type Flush = (x: number) => number;

/** The smallest normal float32. */
export const LEAST = 2 ** -126;
const flushBelow =
  (least: number): Flush =>
  (x) =>
    Math.abs(x) >= least || Number.isNaN(x) ? x : x < 0 || Object.is(x, -0) ? -0 : 0;
/** Replaces a subnormal float32 with the zero of its sign. */
export const flush = flushBelow(LEAST);
/** {@link flush} for float64. */
export const flush64 = flushBelow(2 ** -1022);
const keep: Flush = (x) => x;
const instead =
  (zero: Flush): Flush =>
  (x) =>
    x !== 0 && Math.abs(x) < LEAST ? zero(x) : x;

/** Functions whose operands are not flushed to the zero of their sign, and what they do instead. */
const operands: readonly (readonly [names: string, Flush])[] = [
  ["copysign erfinv ldexp log log10 log2 logb pow scalbn tgamma", keep],
  ["expm1 log1p sinpi", instead(() => 0)],
  // Negative ones are outside the domain.
  ["normcdfinv y0 y1 yn", instead((x) => (x < 0 ? NaN : 0))],
  ["cbrt rcbrt", instead(() => NaN)],
];
/** Functions whose results may be subnormal. */
const gives = "copysign erfc erfinv j1 ldexp nextafter rhypot rnorm3d rnorm4d scalbn tgamma";
const has = (names: string, name: string) => names.split(" ").includes(name);

/** How a function treats float32 operands and results. */
export const subnormals = (name: string): { readonly operand: Flush; readonly result: Flush } => ({
  operand: operands.find(([names]) => has(names, name))?.[1] ?? flush,
  result: has(gives, name) ? keep : flush,
});
