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
