/** Functions that JavaScript's Math lacks, to nearly float64's precision. */

/** `2/√π · exp(-x²) · Σ 2ⁿ x²ⁿ⁺¹ / (2n+1)!!`: all terms have one sign, so nothing cancels (Abramowitz and Stegun 7.1.6). */
export function erf(x: number): number {
  if (Number.isNaN(x)) return x;
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > Math.abs(sum) * 1e-17; n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** `exp(x²) · erfc(x)`, which stays in range where erfc does not: a continued fraction from 2 on. */
export function erfcx(x: number): number {
  if (x < 2) return Math.exp(x * x) * (1 - erf(x));
  let fraction = x;
  for (let n = 60; n >= 1; n--) fraction = x + n / 2 / fraction;
  return 1 / (Math.sqrt(Math.PI) * fraction);
}

/** What `erf` leaves of 1, without cancelling where that is little. */
export function erfc(x: number): number {
  return x < 2 ? 1 - erf(x) : Math.exp(-x * x) * erfcx(x);
}

/** The inverse of `erf`: an estimate (Giles 2012, central branch by logarithms), then Newton's steps. */
export function erfinv(y: number): number {
  if (!(Math.abs(y) < 1)) return Math.abs(y) === 1 ? y * Infinity : NaN;
  const a = 0.147;
  const log = Math.log1p(-y * y);
  const half = 2 / (Math.PI * a) + log / 2;
  let x = Math.sign(y) * Math.sqrt(Math.sqrt(half * half - log / a) - half);
  for (let i = 0; i < 4; i++) {
    const error = y > 0.5 ? 1 - y - erfc(x) : y < -0.5 ? erfc(-x) - (1 + y) : y - erf(x);
    const step = y > 0.5 ? -error : error;
    x += step * (Math.sqrt(Math.PI) / 2) * Math.exp(x * x);
  }
  return x;
}

/** Lanczos' coefficients for g = 7, n = 9. */
const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
] as const;

/** The logarithm of |Γ(x)|. */
export function lgamma(x: number): number {
  if (x <= 0 && Number.isInteger(x)) return Infinity;
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - lgamma(1 - x);
  if (x === Infinity) return x;
  const t = x + 6.5;
  const series = LANCZOS.reduce((sum, c, i) => (i === 0 ? c : sum + c / (x - 1 + i)), 0);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(series);
}

/** Γ(x). */
export function tgamma(x: number): number {
  if (Number.isInteger(x) && x > 0 && x < 24) {
    let product = 1;
    for (let i = 2; i < x; i++) product *= i;
    return product;
  }
  if (x === 0) return 1 / x;
  if (x < 0 && Number.isInteger(x)) return NaN;
  if (x < 0.5) return Math.PI / (Math.sin(Math.PI * x) * tgamma(1 - x));
  return Math.exp(lgamma(x));
}

/** Ties go to the even neighbour. */
export function roundHalfEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  if (rest !== 0.5) return Object.is(Math.round(x), 0) && x < 0 ? -0 : Math.round(x);
  return down % 2 === 0 ? down : down + 1;
}
