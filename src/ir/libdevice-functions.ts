/**
 * What libdevice's functions compute, in float64, which the evaluator rounds once. Those that are not here (Bessel's
 * functions, directed rounding, …) are not modelled.
 */
import { fma as fmaOf } from "./numeric-float.js";
import { erf, erfc, erfcx, erfinv, lgamma, roundHalfEven, tgamma } from "./special.js";

type Compute = (x: number, y: number, z: number, w: number) => number;

const pi = Math.PI;
const isInt = Number.isInteger;
/** Ties go away from zero. */
const round = (x: number) => Math.sign(x) * Math.round(Math.abs(x));
/** `x - y · n` with the integer n nearest to x / y. */
const remainder = (x: number, y: number) => {
  const rest = x % y;
  const n = Math.trunc(x / y);
  const half = Math.abs(y) / 2;
  if (Math.abs(rest) > half || (Math.abs(rest) === half && n % 2 !== 0)) return rest - Math.sign(rest) * Math.abs(y);
  return rest;
};
const copysign = (x: number, y: number) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
const exponent = (x: number) => {
  const guess = Math.floor(Math.log2(Math.abs(x)));
  return 2 ** guess > Math.abs(x) ? guess - 1 : 2 ** (guess + 1) <= Math.abs(x) ? guess + 1 : guess;
};
const clz = (x: number) => Math.clz32(x);
const popc = (x: number) => {
  let count = 0;
  for (let rest = x >>> 0; rest !== 0; rest &= rest - 1) count++;
  return count;
};
const reversed = (x: number) => {
  let out = 0;
  for (let bit = 0; bit < 32; bit++) out |= ((x >>> bit) & 1) << (31 - bit);
  return out;
};
const hypot = (...xs: readonly number[]) => Math.sqrt(xs.reduce((sum, x) => sum + x * x, 0));
const fused = fmaOf("float32");

export const libdeviceFunctions: Readonly<Record<string, Compute>> = {
  abs: Math.abs,
  acos: Math.acos,
  acosh: Math.acosh,
  addRn: (x, y) => x + y,
  asin: Math.asin,
  asinh: Math.asinh,
  atan: Math.atan,
  atan2: Math.atan2,
  atanh: Math.atanh,
  brev: reversed,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  clz,
  copysign,
  cos: Math.cos,
  cosh: Math.cosh,
  cospi: (x) => (Math.abs(x % 1) === 0.5 ? 0 : Math.cos(pi * (x % 2))),
  divRn: (x, y) => x / y,
  double2floatRn: (x) => x,
  double2intRz: Math.trunc,
  erf,
  erfc,
  erfcx,
  erfcinv: (x) => erfinv(1 - x),
  erfinv,
  exp: Math.exp,
  exp10: (x) => 10 ** x,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  fastCosf: Math.cos,
  fastDividef: (x, y) => x / y,
  fastExp10f: (x) => 10 ** x,
  fastExpf: Math.exp,
  fastLog10f: Math.log10,
  fastLog2f: Math.log2,
  fastLogf: Math.log,
  fastPowf: (x, y) => x ** y,
  fastSinf: Math.sin,
  fastTanf: Math.tan,
  fastTanhf: Math.tanh,
  fdim: (x, y) => (x > y ? x - y : Number.isNaN(x) || Number.isNaN(y) ? NaN : 0),
  ffs: (x) => (x === 0 ? 0 : 32 - clz(x & -x)),
  finitef: (x) => Number(Number.isFinite(x)),
  float2intRz: Math.trunc,
  floor: Math.floor,
  fma: fused,
  fmaRn: fused,
  fmod: (x, y) => x % y,
  hadd: (x, y) => Math.floor((x + y) / 2),
  hypot,
  ilogb: exponent,
  int2doubleRn: (x) => x,
  int2floatRn: (x) => x,
  isfinited: (x) => Number(Number.isFinite(x)),
  isinf: (x) => Number(Math.abs(x) === Infinity),
  isnan: (x) => Number(Number.isNaN(x)),
  ldexp: (x, n) => x * 2 ** n,
  lgamma,
  log: Math.log,
  log10: Math.log10,
  log1p: Math.log1p,
  log2: Math.log2,
  logb: (x) => (x === 0 ? -Infinity : Number.isFinite(x) ? exponent(x) : Math.abs(x)),
  mul24: (x, y) => Math.imul((x << 8) >> 8, (y << 8) >> 8),
  mulRn: (x, y) => x * y,
  nearbyint: roundHalfEven,
  norm3d: hypot,
  norm4d: hypot,
  normcdf: (x) => erfc(-x / Math.SQRT2) / 2,
  normcdfinv: (x) => Math.SQRT2 * erfinv(2 * x - 1),
  popc,
  pow: (x, y) =>
    Math.abs(x) === 1 && !Number.isFinite(y) ? (x === 1 || !Number.isNaN(y) ? 1 : NaN) : x === 1 ? 1 : x ** y,
  rcbrt: (x) => 1 / Math.cbrt(x),
  rcpRn: (x) => 1 / x,
  remainder,
  rhadd: (x, y) => Math.floor((x + y + 1) / 2),
  rhypot: (x, y) => 1 / hypot(x, y),
  rint: roundHalfEven,
  rnorm3d: (x, y, z) => 1 / hypot(x, y, z),
  rnorm4d: (x, y, z, w) => 1 / hypot(x, y, z, w),
  round,
  rsqrt: (x) => 1 / Math.sqrt(x),
  rsqrtRn: (x) => 1 / Math.sqrt(x),
  sad: (x, y, z) => Math.abs(x - y) + z,
  saturatef: (x) => (Number.isNaN(x) ? 0 : Math.min(Math.max(x, 0), 1)),
  scalbn: (x, n) => x * 2 ** n,
  sin: Math.sin,
  sinh: Math.sinh,
  sinpi: (x) => (isInt(x) ? copysign(0, x) : Math.sin(pi * (x % 2))),
  sqrt: Math.sqrt,
  sqrtRn: Math.sqrt,
  subRn: (x, y) => x - y,
  tan: Math.tan,
  tanh: Math.tanh,
  tgamma,
  trunc: Math.trunc,
  uint2doubleRn: (x) => x,
  uint2floatRn: (x) => x,
};

/** Reinterpretations of bits. */
export const libdeviceBitcasts: ReadonlySet<string> = new Set([
  "intAsFloat",
  "floatAsInt",
  "uintAsFloat",
  "floatAsUint",
  "longlongAsDouble",
  "doubleAsLonglong",
]);
