/** Functions missing from JavaScript's Math, with nearly float64 precision. */

const polynomial = (x: number, coefficients: readonly number[]): number =>
  coefficients.reduceRight((sum, coefficient) => sum * x + coefficient, 0);

/**
 * Rational approximations of erf and erfc from Sun's fdlibm (s_erf.c, 1993), lowest coefficient first. Their ranges are
 * below 0.84375, up to 1.25, up to 1 / 0.35, and up to 28, beyond which erfc is 0. The error of erf is below one unit
 * in the last place, that of erfc below three.
 */
const NEAR = {
  p: [
    1.28379167095512558561e-1, -3.2504210724700149937e-1, -2.84817495755985104766e-2, -5.77027029648944159157e-3,
    -2.37630166566501626084e-5,
  ],
  q: [
    1, 3.97917223959155352819e-1, 6.50222499887672944485e-2, 5.08130628187576562776e-3, 1.32494738004321644526e-4,
    -3.9602282787753681232e-6,
  ],
};
const ONE = {
  p: [
    -2.36211856075265944077e-3, 4.14856118683748331666e-1, -3.72207876035701323847e-1, 3.18346619901161753674e-1,
    -1.10894694282396677476e-1, 3.54783043256182359371e-2, -2.166375594868790843e-3,
  ],
  q: [
    1, 1.06420880400844228286e-1, 5.40397917702171048937e-1, 7.18286544141962662868e-2, 1.26171219808761642112e-1,
    1.36370839120290507362e-2, 1.1984499846799107417e-2,
  ],
};
const FAR = {
  p: [
    -9.86494403484714822705e-3, -6.93858572707181764372e-1, -1.05586262253232909814e1, -6.23753324503260060396e1,
    -1.62396669462573470355e2, -1.84605092906711035994e2, -8.12874355063065934246e1, -9.81432934416914548592,
  ],
  q: [
    1, 1.96512716674392571292e1, 1.376577541435190426e2, 4.34565877475229228821e2, 6.45387271733267880336e2,
    4.29008140027567833386e2, 1.08635005541779435134e2, 6.57024977031928170135, -6.04244152148580987438e-2,
  ],
};
const TAIL = {
  p: [
    -9.86494292470009928597e-3, -7.99283237680523006574e-1, -1.77579549177547519889e1, -1.60636384855821916062e2,
    -6.37566443368389627722e2, -1.02509513161107724954e3, -4.83519191608651397019e2,
  ],
  q: [
    1, 3.03380607434824582924e1, 3.25792512996573918826e2, 1.53672958608443695994e3, 3.19985821950859553908e3,
    2.55305040643316442583e3, 4.74528541206955367215e2, -2.24409524465858183362e1,
  ],
};
const ratio = (x: number, { p, q }: typeof NEAR): number => polynomial(x, p) / polynomial(x, q);
/** erf(1) to 24 bits, and a constant that is subtracted from the exponent in the approximations of erfc. */
const ERF_ONE = 8.45062911510467529297e-1;
const SHIFT = 0.5625;

export function erf(x: number): number {
  const magnitude = Math.abs(x);
  if (magnitude < 0.84375) return x + x * ratio(x * x, NEAR);
  if (magnitude < 1.25) return Math.sign(x) * (ERF_ONE + ratio(magnitude - 1, ONE));
  return Math.sign(x) * (1 - (magnitude < 6 ? erfcAbove(magnitude) : 0));
}

/** `1 - erf(x)` without cancellation. */
export function erfc(x: number): number {
  if (x < -6) return 2;
  if (x < -1.25) return 2 - erfcAbove(-x);
  if (x < 0.25) return 1 - erf(x);
  if (x < 0.84375) return 0.5 - (x * ratio(x * x, NEAR) + (x - 0.5));
  if (x < 1.25) return 1 - ERF_ONE - ratio(x - 1, ONE);
  if (x < 28) return erfcAbove(x);
  return Number.isNaN(x) ? x : 0;
}

/** erfc from 1.25 to 28. `exp(-x²)` is computed in two parts; the first square is exact. */
function erfcAbove(x: number): number {
  const high = Math.fround(x);
  const correction = ratio(1 / (x * x), x < 1 / 0.35 ? FAR : TAIL);
  return (Math.exp(-high * high - SHIFT) * Math.exp((high - x) * (high + x) + correction)) / x;
}

/** `exp(factor · x²)` without rounding x² first, because the exponential would multiply that error by x². */
function expSquare(x: number, factor: 1 | -1 | -0.5): number {
  const high = Math.fround(x);
  const low = (x - high) * (x + high);
  return Math.exp(factor * high * high) * Math.exp(factor * low);
}

/** `exp(x²) · erfc(x)`, which does not underflow as erfc does. From 1 on, a continued fraction (DLMF 7.9.1). */
export function erfcx(x: number): number {
  if (x < -27) return Infinity;
  if (x < 1) return expSquare(x, 1) * erfc(x);
  if (x > 1e8) return 1 / Math.sqrt(Math.PI) / x;
  let fraction = x;
  for (let n = Math.ceil(20 + 400 / (x * x)); n >= 1; n--) fraction = x + n / 2 / fraction;
  return 1 / (Math.sqrt(Math.PI) * fraction);
}

/** The cumulative normal distribution function. */
export function normcdf(x: number): number {
  if (x < -40) return 0;
  return x < -1 ? (expSquare(x, -0.5) * erfcx(-x * Math.SQRT1_2)) / 2 : erfc(-x * Math.SQRT1_2) / 2;
}

/** The inverse of `erfc`: Newton's method on its logarithm in the tails, and on `erf` between. */
export function erfcinv(y: number): number {
  if (y === 0) return Infinity;
  if (y === 2) return -Infinity;
  if (!(y > 0 && y < 2)) return NaN;
  if (y > 0.5 && y < 1.5) return erfinv(1 - y);
  if (y >= 1.5) return -erfcinv(2 - y);
  // The initial value: erfc(x) is nearly exp(-x²) / (x √π) here.
  let x = Math.sqrt(-Math.log(y));
  for (let i = 0; i < 8; i++) {
    // log(erfc) = -x² + log(erfcx); its slope is -2 / (√π erfcx).
    const scaled = erfcx(x);
    x += (-x * x + Math.log(scaled) - Math.log(y)) * ((Math.sqrt(Math.PI) / 2) * scaled);
  }
  return x;
}

/** The inverse of `erf`. */
export function erfinv(y: number): number {
  if (!(Math.abs(y) < 1)) return Math.abs(y) === 1 ? y * Infinity : NaN;
  if (Math.abs(y) > 0.5) return Math.sign(y) * erfcinv(1 - Math.abs(y));
  let x = (y * Math.sqrt(Math.PI)) / 2;
  for (let i = 0; i < 6; i++) x -= (erf(x) - y) * (Math.sqrt(Math.PI) / 2) * Math.exp(x * x);
  return x;
}

/** Rounds to the nearest integer, ties to even. */
export function roundHalfEven(x: number): number {
  const floor = Math.floor(x);
  const fraction = x - floor;
  const nearest = fraction < 0.5 || (fraction === 0.5 && floor % 2 === 0) ? floor : floor + 1;
  return nearest === 0 && x < 0 ? -0 : nearest;
}

// The gamma function and its logarithm, with float64 precision.

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

/** Bessel functions with float64 precision. Equation numbers refer to the Digital Library of Mathematical Functions. */

const BITS = 256;
const ONE_FIXED = 1n << BigInt(BITS);

/** Converts a finite float64 to a multiple of 2^-BITS, truncated. */
function toFixedPoint(x: number): bigint {
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(x) || 1)) - 52, -1074);
  const shift = BigInt(BITS + exponent);
  const m = BigInt(x / 2 ** exponent);
  return shift < 0n ? m >> -shift : m << shift;
}
const multiply = (x: bigint, y: bigint): bigint => (x * y) >> BigInt(BITS);
function toNumber(x: bigint): number {
  const drop = BigInt(Math.max(x.toString(2).length - 64, 0));
  return Number(x >> drop) * 2 ** (Number(drop) - BITS);
}

/**
 * `Σ (±1)^k (x²/4)^k weight(k) / (k! (k+n)!)`: J_n or I_n without the factor (x/2)^n (10.2.2, 10.25.2). Fixed point
 * loses no precision when large terms cancel.
 */
function series(n: number, x: number, sign: 1n | -1n, weight?: (k: number) => bigint): number {
  const half = toFixedPoint(x / 2);
  const square = sign * multiply(half, half);
  let term = ONE_FIXED;
  for (let i = 2; i <= n; i++) term /= BigInt(i);
  let sum = 0n;
  for (let k = 1; term !== 0n && k < 10_000; k++) {
    sum += weight ? multiply(term, weight(k - 1)) : term;
    term = multiply(term, square) / BigInt(k * (k + n));
    if (term === -1n) break;
  }
  return toNumber(sum);
}

/** For x from here on, Hankel's expansion (10.17.3) is exact to float64: its smallest term is about exp(-2x). */
const HANKEL_MIN = 25;

/** P and Q of Hankel's expansion, and cos and sin of its phase, x - (n/2 + 1/4)π, for n of 0 or 1. */
function hankel(n: 0 | 1, x: number) {
  let [p, q] = [0, 0];
  let term = 1;
  for (let k = 0; Math.abs(term) > 1e-18 && k < 2 * x; k++) {
    if (k % 2 === 0) p += k % 4 === 0 ? term : -term;
    else q += k % 4 === 1 ? term : -term;
    term *= (4 * n * n - (2 * k + 1) ** 2) / ((k + 1) * 8 * x);
  }
  // Computed from cos x and sin x, whose argument is reduced exactly.
  const [c, s] = [Math.cos(x), Math.sin(x)];
  const [cos, sin] = n === 0 ? [c + s, s - c] : [s - c, -(s + c)];
  return { p, q, cos, sin, scale: 1 / (Math.sqrt(Math.PI) * Math.sqrt(x)) };
}

function besselJ(n: 0 | 1, x: number): number {
  if (!Number.isFinite(x)) return Number.isNaN(x) ? x : 0;
  const magnitude = Math.abs(x);
  const sign = n === 1 && x < 0 ? -1 : 1;
  if (magnitude < HANKEL_MIN) return n === 0 ? series(0, x, -1n) : (x / 2) * series(1, x, -1n);
  const { p, q, cos, sin, scale } = hankel(n, magnitude);
  return sign * scale * (p * cos - q * sin);
}

const EULER_FIXED = 0.5772156649015329;
const harmonics: bigint[] = [];
function harmonic(k: number): bigint {
  return (harmonics[k] ??= k === 0 ? 0n : harmonic(k - 1) + ONE_FIXED / BigInt(k));
}

/** Equation 10.8.1 for n of 0 and 1: a logarithm, and a series with harmonic numbers. */
function besselY(n: 0 | 1, x: number): number {
  if (x === 0) return -Infinity;
  if (!(x > 0)) return NaN;
  if (x === Infinity) return 0;
  if (x >= HANKEL_MIN) {
    const { p, q, cos, sin, scale } = hankel(n, x);
    return scale * (p * sin + q * cos);
  }
  const log = Math.log(x) - Math.LN2 + EULER_FIXED;
  if (n === 0) return (2 / Math.PI) * (log * series(0, x, -1n) - series(0, x, -1n, harmonic));
  const sum = series(1, x, -1n, (k) => harmonic(k) + harmonic(k + 1));
  return -2 / (Math.PI * x) + (x / Math.PI) * (log * series(1, x, -1n) - sum / 2);
}

export const j0 = (x: number): number => besselJ(0, x);
export const j1 = (x: number): number => besselJ(1, x);
export const y0 = (x: number): number => besselY(0, x);
export const y1 = (x: number): number => besselY(1, x);

/** Upward recurrence (10.6.1), which is stable while the values do not decrease with n. */
function recurUpward(n: number, x: number, first: number, second: number): number {
  let [previous, value] = [first, second];
  for (let k = 1; k < n && Number.isFinite(value); k++) [previous, value] = [value, ((2 * k) / x) * value - previous];
  return value;
}

/** J_n(x). NaN for negative n, as in CUDA. */
export function jn(n: number, x: number): number {
  if (n < 0 || Number.isNaN(x)) return NaN;
  if (n < 2) return besselJ(n as 0 | 1, x);
  const magnitude = Math.abs(x);
  const sign = x < 0 && n % 2 === 1 ? -1 : 1;
  if (magnitude === Infinity) return 0;
  if (magnitude >= Math.max(HANKEL_MIN, n)) return sign * recurUpward(n, magnitude, j0(magnitude), j1(magnitude));
  if (magnitude < HANKEL_MIN) return sign * (magnitude / 2) ** n * series(n, magnitude, -1n);
  return sign * recurDownward(n, magnitude);
}

/** Miller's algorithm for n above x: downward recurrence from far above, scaled by `J_0 + 2 Σ J_2k = 1` (10.12.4). */
function recurDownward(n: number, x: number): number {
  let [higher, value, result, sum] = [0, 1e-300, 0, 0];
  for (let k = 2 * Math.ceil((n + 50 + Math.sqrt(80 * n)) / 2); k > 0; k--) {
    [higher, value] = [value, ((2 * k) / x) * value - higher];
    if (k - 1 === n) result = value;
    if (k % 2 === 1 && k > 1) sum += 2 * value;
    if (Math.abs(value) > 1e250)
      [higher, value, result, sum] = [higher, value, result, sum].map((v) => v * 1e-250) as [
        number,
        number,
        number,
        number,
      ];
  }
  return result / (sum + value);
}

/** Y_n(x). NaN for negative n, as in CUDA. */
export function yn(n: number, x: number): number {
  if (n < 0 || Number.isNaN(x)) return NaN;
  if (n < 2 || !(x > 0) || x === Infinity) return besselY(n === 1 ? 1 : 0, x);
  return recurUpward(n, x, y0(x), y1(x));
}

/** I_0 overflows float64 above this. */
const OVERFLOW = 714;

/** The modified Bessel function I_0. */
export const i0 = (x: number): number => (Math.abs(x) <= OVERFLOW ? series(0, x, 1n) : Math.abs(x) * Infinity);
/** The modified Bessel function I_1. */
export const i1 = (x: number): number => (Math.abs(x) <= OVERFLOW ? (x / 2) * series(1, x, 1n) : x * Infinity);
