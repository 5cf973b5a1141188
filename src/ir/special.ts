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

/** `exp(factor · x²)`, without the error of rounding x² first, which the exponential would multiply by x². */
function expSquare(x: number, factor: 1 | -1 | -0.5): number {
  const high = Math.fround(x);
  const low = (x - high) * (x + high);
  return Math.exp(factor * high * high) * Math.exp(factor * low);
}

/** `exp(x²) · erfc(x)`, which stays in range where erfc does not: a continued fraction from 1 on (DLMF 7.9.1). */
export function erfcx(x: number): number {
  if (x < -27) return Infinity;
  if (x < 1) return expSquare(x, 1) * (1 - erf(x));
  if (x > 1e8) return 1 / Math.sqrt(Math.PI) / x;
  let fraction = x;
  for (let n = Math.ceil(20 + 400 / (x * x)); n >= 1; n--) fraction = x + n / 2 / fraction;
  return 1 / (Math.sqrt(Math.PI) * fraction);
}

/** What `erf` leaves of 1, without cancelling where that is little. */
export function erfc(x: number): number {
  if (x > 30) return 0;
  return x < 1 ? 1 - erf(x) : expSquare(x, -1) * erfcx(x);
}

/** The normal distribution's integral up to x. */
export function normcdf(x: number): number {
  if (x < -40) return 0;
  return x < -1 ? (expSquare(x, -0.5) * erfcx(-x * Math.SQRT1_2)) / 2 : erfc(-x * Math.SQRT1_2) / 2;
}

/** The inverse of `erfc`: Newton's steps on its logarithm for the tails, on `erf` between. */
export function erfcinv(y: number): number {
  if (!(y > 0 && y < 2)) return y === 0 ? Infinity : y === 2 ? -Infinity : NaN;
  if (y > 0.5 && y < 1.5) return erfinv(1 - y);
  if (y >= 1.5) return -erfcinv(2 - y);
  // Where erfc(x) is nearly exp(-x²) / (x √π).
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

/** Ties go to the even neighbour. */
export function roundHalfEven(x: number): number {
  const down = Math.floor(x);
  const rest = x - down;
  const near = rest < 0.5 || (rest === 0.5 && down % 2 === 0) ? down : down + 1;
  return near === 0 && x < 0 ? -0 : near;
}
