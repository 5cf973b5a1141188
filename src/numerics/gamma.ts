/** The gamma function and its logarithm, with float64 precision. */

/** ζ(k) - 1 for k from 2 on. The Euler-Maclaurin formula gives the tail of the sum. */
const zetaMinusOne = Array.from({ length: 60 }, (_, i) => {
  const k = i + 2;
  const N = 60;
  let sum = N ** (1 - k) / (k - 1) + N ** -k / 2 + (k * N ** (-k - 1)) / 12;
  sum -= (k * (k + 1) * (k + 2) * N ** (-k - 3)) / 720;
  sum += (k * (k + 1) * (k + 2) * (k + 3) * (k + 4) * N ** (-k - 5)) / 30240;
  for (let n = N - 1; n >= 2; n--) sum += n ** -k;
  return sum;
});
const EULER = 0.5772156649015329;

/** `log Γ(2 + w)` for w in [-1/2, 1/2], accurate near its root w = 0 (Abramowitz and Stegun 6.1.33). */
function logGammaNear2(w: number): number {
  const sum = zetaMinusOne.reduceRight((partial, zeta, i) => {
    const k = i + 2;
    return partial * w + ((k % 2 === 0 ? 1 : -1) * zeta) / k;
  }, 0);
  return w * (1 - EULER + w * sum);
}

/** Coefficients of Stirling's series, B_2k / (2k (2k - 1)). */
const STIRLING = [1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400] as const;

/** `sin(πx)` with exact argument reduction. */
export function sinpi(x: number): number {
  const nearestHalf = Math.round(2 * x) / 2;
  const remainder = Math.PI * (x - nearestHalf);
  const quadrant = (((2 * nearestHalf) % 4) + 4) % 4;
  const magnitude = quadrant % 2 === 0 ? Math.sin(remainder) : Math.cos(remainder);
  return quadrant < 2 ? magnitude : -magnitude;
}

/** The logarithm of |Γ(x)|. */
export function lgamma(x: number): number {
  if (!Number.isFinite(x)) return Math.abs(x);
  if (x <= 0 && Number.isInteger(x)) return Infinity;
  if (x < 0.5) {
    if (Math.abs(x) < 1e-17) return -Math.log(Math.abs(x));
    // The difference of the two terms below would cancel if they are close.
    if (x > -20) return Math.log(Math.abs(tgamma(x)));
    return Math.log(Math.PI / Math.abs(sinpi(x))) - lgamma(1 - x);
  }
  if (x < 1.5) return logGammaNear2(x - 1) - Math.log1p(x - 1);
  if (x <= 2.5) return logGammaNear2(x - 2);
  if (x < 12) {
    let [argument, product] = [x, 1];
    while (argument > 2.5) product *= argument -= 1;
    return Math.log(product) + logGammaNear2(argument - 2);
  }
  const inverse = 1 / x;
  const series = STIRLING.reduceRight((sum, c) => sum * inverse * inverse + c, 0) * inverse;
  return (x - 0.5) * Math.log(x) - x + (0.5 * Math.log(2 * Math.PI) + series);
}

/** Γ(x). NaN at the negative integers. */
export function tgamma(x: number): number {
  if (x === 0) return 1 / x;
  if (x === -Infinity || (x < 0 && Number.isInteger(x))) return NaN;
  if (x > 172) return Infinity;
  if (x < -185) return sinpi(x) < 0 ? -0 : 0;
  let [argument, product] = [x, 1];
  while (argument > 2.5) product *= argument -= 1;
  let divisor = 1;
  // Two divisors, because one product could overflow if the result is subnormal.
  let outer = 1;
  for (; argument < 1.5; argument += 1) {
    divisor *= argument;
    if (Math.abs(divisor) > 1e150) [outer, divisor] = [outer * divisor, 1];
  }
  return (product * Math.exp(logGammaNear2(argument - 2))) / divisor / outer;
}
