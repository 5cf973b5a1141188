/** Bessel functions with float64 precision. Equation numbers refer to the Digital Library of Mathematical Functions. */

const BITS = 256;
const ONE = 1n << BigInt(BITS);

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
  let term = ONE;
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

const EULER = 0.5772156649015329;
const harmonics: bigint[] = [];
function harmonic(k: number): bigint {
  return (harmonics[k] ??= k === 0 ? 0n : harmonic(k - 1) + ONE / BigInt(k));
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
  const log = Math.log(x) - Math.LN2 + EULER;
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
