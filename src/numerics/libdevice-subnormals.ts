/**
 * Handling of subnormal float32s in libdevice functions. Triton compiles libdevice to flush them, but only intrinsics
 * do. Plain products and comparisons see subnormals, so functions differ. The lists below were measured on an H200.
 */

type Flush = (x: number) => number;

/** The smallest normal float32. */
export const MIN_NORMAL = 2 ** -126;
const flushBelow =
  (limit: number): Flush =>
  (x) => {
    if (Math.abs(x) >= limit || Number.isNaN(x)) return x;
    return x < 0 || Object.is(x, -0) ? -0 : 0;
  };
/** Replaces a subnormal float32 with the zero of its sign. */
export const flush = flushBelow(MIN_NORMAL);
/** {@link flush} for float64. */
export const flush64 = flushBelow(2 ** -1022);
const identity: Flush = (x) => x;
const replaceSubnormal =
  (zero: Flush): Flush =>
  (x) =>
    x !== 0 && Math.abs(x) < MIN_NORMAL ? zero(x) : x;

/** Functions whose subnormal operands are not flushed to a zero of the same sign, and their replacement. */
const operandRules: readonly (readonly [names: string, Flush])[] = [
  ["copysign erfinv ldexp log log10 log2 logb pow scalbn tgamma", identity],
  ["expm1 log1p sinpi", replaceSubnormal(() => 0)],
  // Negative operands are outside the domain.
  ["normcdfinv y0 y1 yn", replaceSubnormal((x) => (x < 0 ? NaN : 0))],
  ["cbrt rcbrt", replaceSubnormal(() => NaN)],
];
/** Functions whose results may be subnormal. */
const subnormalResults = "copysign erfc erfinv j1 ldexp nextafter rhypot rnorm3d rnorm4d scalbn tgamma";
const includesName = (names: string, name: string) => names.split(" ").includes(name);

/** The treatment of a function's float32 operands and results. */
export const subnormals = (name: string): { readonly operand: Flush; readonly result: Flush } => ({
  operand: operandRules.find(([names]) => includesName(names, name))?.[1] ?? flush,
  result: includesName(subnormalResults, name) ? identity : flush,
});
