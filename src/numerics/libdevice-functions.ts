/**
 * The functions of libdevice. Floats are computed in float64, which the evaluator rounds once; integers and directed
 * rounding are exact. If an overload differs by operand letters (see `libdevice-table.ts`), it has a separate entry,
 * such as `clz l`.
 */
import {
  float64Bits,
  fromFloat64Bits,
  fromWords,
  highWordOf,
  lowWordOf,
  directed,
  exactOf,
  productOf,
  quotientOf,
  rootOf,
  roundExact,
  sumOf,
  type RoundingMode,
  type DirectedOp,
} from "./numeric-float.js";
import { isBig } from "./numeric-int.js";
import { fromBits, toBits, floatToBig, floatToInt } from "./numeric-bits.js";
import {
  erf,
  erfc,
  erfcinv,
  erfcx,
  erfinv,
  normcdf,
  roundHalfEven,
  lgamma,
  sinpi,
  tgamma,
  i0,
  i1,
  j0,
  j1,
  jn,
  y0,
  y1,
  yn,
} from "./special.js";

/**
 * Handling of subnormal float32s in libdevice functions. Triton compiles libdevice to flush them, but only intrinsics
 * do. Plain products and comparisons see subnormals, so functions differ. The lists below were measured on an H200.
 */

type Flush = (x: number) => number;

/** The smallest normal float32. */
const MIN_NORMAL = 2 ** -126;
const flushBelow =
  (limit: number): Flush =>
  (x) => {
    if (Math.abs(x) >= limit || Number.isNaN(x)) return x;
    return x < 0 || Object.is(x, -0) ? -0 : 0;
  };
/** Replaces a subnormal float32 with the zero of its sign. */
const flush = flushBelow(MIN_NORMAL);
/** {@link flush} for float64. */
const flush64 = flushBelow(2 ** -1022);
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

type Compute = (x: number, y: number, z: number, w: number) => number;
type Lane = number | bigint;
/** Takes one lane of each operand. 64-bit integers are bigints. Storing the result wraps integers. */
export type Overload = (...lanes: Lane[]) => Lane;

// ---- bits -----------------------------------------------------------------------------------------------------------

/** The value with its low word cleared. */
const truncateToHighWord = (x: number) => fromWords(highWordOf(x), 0);

const popc = (x: bigint) => x.toString(2).replaceAll("0", "").length;
const reverseBits = (x: bigint, width: number) =>
  BigInt(`0b${[...x.toString(2).padStart(width, "0")].reverse().join("")}`);
const integers = (width: 32 | 64): Readonly<Record<string, (x: Lane, y: Lane, z: Lane) => bigint>> => {
  const unsigned = (x: Lane) => BigInt.asUintN(width, BigInt(x));
  const low24 = (x: Lane) => BigInt.asIntN(24, BigInt(x));
  return {
    brev: (x) => reverseBits(unsigned(x), width),
    clz: (x) => BigInt(unsigned(x) === 0n ? width : width - unsigned(x).toString(2).length),
    ffs: (x) => (unsigned(x) === 0n ? 0n : BigInt((unsigned(x) & -unsigned(x)).toString(2).length)),
    mul24: (x, y) => low24(x) * low24(y),
    mulhi: (x, y) => (BigInt(x) * BigInt(y)) >> BigInt(width),
    popc: (x) => BigInt(popc(unsigned(x))),
    sad: (x, y, z) => (x > y ? BigInt(x) - BigInt(y) : BigInt(y) - BigInt(x)) + BigInt(z),
    // Each nibble of the selector selects one of eight bytes; its top bit is ignored.
    bytePerm: (x, y, s) => {
      const bytes = unsigned(x) | (unsigned(y) << 32n);
      const selectByte = (i: bigint) => (bytes >> (8n * ((BigInt(s) >> (4n * i)) & 7n))) & 255n;
      return [0n, 1n, 2n, 3n].reduce((sum, i) => sum | (selectByte(i) << (8n * i)), 0n);
    },
  };
};
const [integers32, integers64] = [integers(32), integers(64)];

/** The next float64 after x toward y. */
function nextafter(x: number, y: number): number {
  if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
  if (x === y) return y;
  const step = x === 0 || x > 0 === y > x ? 1n : -1n;
  const magnitude = fromFloat64Bits(float64Bits(Math.abs(x)) + step);
  return x < 0 || (x === 0 && y < 0) ? -magnitude : magnitude;
}
/** The next float32 after x toward y. After zero comes the smallest normal one, because CUDA flushes subnormals. */
function nextafter32(x: number, y: number): number {
  const [from, to] = [flush(x), flush(y)];
  if (Number.isNaN(from) || Number.isNaN(to)) return NaN;
  if (from === to) return to;
  if (from === 0) return copysign(MIN_NORMAL, to);
  const code = toBits("float32")(Math.abs(from)) + (from > 0 === to > from ? 1 : -1);
  return copysign(fromBits("float32")(code), from);
}

// ---- floats ---------------------------------------------------------------------------------------------------------

/** Rounds to the nearest integer, ties away from zero. */
const round = (x: number) => {
  const truncated = Math.trunc(x);
  return Math.abs(x - truncated) >= 0.5 ? truncated + Math.sign(x) : truncated;
};
/** `x - y · n` with the integer n nearest to x / y, ties to even. */
const remainder = (x: number, y: number) => {
  if (!Number.isFinite(y)) return Number.isNaN(y) ? y : x;
  // The modulus 2 |y| also determines the parity of n, for any n.
  const magnitude = Math.abs(y);
  let result = Math.abs(x) % (2 * magnitude);
  if (2 * magnitude === Infinity) result = Math.abs(x);
  if (result > magnitude / 2 && result !== magnitude * 1.5 && result < magnitude * 1.5) result -= magnitude;
  else if (result >= magnitude * 1.5) result -= 2 * magnitude;
  return Object.is(x, -0) || x < 0 ? -result : result;
};
const copysign = (x: number, y: number) => (y < 0 || Object.is(y, -0) ? -Math.abs(x) : Math.abs(x));
/** The exponent of a finite, non-zero number. */
const exponent = (x: number) => {
  const { m, e } = exactOf(Math.abs(x));
  return m.toString(2).length - 1 + e;
};
const logb = (x: number) => {
  if (x === 0) return -Infinity;
  return Number.isFinite(x) ? exponent(x) : Math.abs(x);
};
/** `x · 2ⁿ` with one rounding. */
const scaleByPowerOfTwo = (x: number, n: number) => {
  if (x === 0 || !Number.isFinite(x)) return x;
  const { m, e } = exactOf(x);
  return roundExact({ m, e: e + Math.max(Math.min(n, 5000), -5000) }, "float64", "n");
};
/** For a subnormal, CUDA returns twice the value for any n. */
const scaleByPowerOfTwo32 = (x: number, n: number) => (Math.abs(x) < MIN_NORMAL ? x + x : scaleByPowerOfTwo(x, n));
/** `x` to an integer power by repeated squaring, as in libdevice. `round` rounds each product. */
const power = (round: (x: number) => number) => (x: number, n: number) => {
  let [square, product] = [round(x), 1];
  for (let remainingExponent = Math.abs(n); ; remainingExponent = Math.floor(remainingExponent / 2)) {
    if (remainingExponent % 2 === 1) product = round(product * square);
    if (remainingExponent < 2) return n < 0 ? 1 / product : product;
    square = round(square * square);
  }
};

/** `√(x² + y² + …)` or its reciprocal, with one rounding. */
const norm =
  (isReciprocal: boolean) =>
  (...xs: readonly number[]) => {
    const l1Norm = xs.some((x) => Math.abs(x) === Infinity) ? Infinity : xs.reduce((sum, x) => sum + Math.abs(x), 0);
    if (!xs.every(Number.isFinite) || l1Norm === 0) return isReciprocal ? 1 / l1Norm : l1Norm;
    const root = rootOf(xs.map((x) => productOf(exactOf(x), exactOf(x))).reduce((sum, x) => sumOf(sum, x)));
    return roundExact(isReciprocal ? quotientOf({ m: 1n, e: 0 }, root) : root, "float64", "n");
  };
const [hypot, rhypot] = [norm(false), norm(true)];

/** `cos(πx)`, never -0. */
const cospi = (x: number) => sinpi(Math.abs(x % 2) + 0.5) + 0;
const mulRz = directed("mul", "float32", "z");
/** sin.approx and cos.approx convert an angle to full rotations, truncated to float32. These are half rotations. */
const halfTurns = (x: number) => 2 * mulRz(x, Math.fround(0.5 / Math.PI));
const fastSin = (x: number) => sinpi(halfTurns(x));
const fastCos = (x: number) => cospi(halfTurns(x));

const functions: Readonly<Record<string, Compute>> = {
  abs: Math.abs,
  acos: Math.acos,
  acosh: Math.acosh,
  asin: Math.asin,
  asinh: Math.asinh,
  atan: Math.atan,
  atan2: Math.atan2,
  atanh: Math.atanh,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  copysign,
  cos: Math.cos,
  cosh: Math.cosh,
  cospi,
  cylBesselI0: i0,
  cylBesselI1: i1,
  double2hiint: highWordOf,
  double2loint: lowWordOf,
  erf,
  erfc,
  erfcx,
  erfcinv,
  erfinv,
  exp: Math.exp,
  exp10: (x) => 10 ** x,
  exp2: (x) => 2 ** x,
  expm1: Math.expm1,
  fastCosf: fastCos,
  // For y from 2¹²⁶ on, the reciprocal is subnormal and flushed.
  fastDividef: (x, y) => (Math.abs(y) > 1 / MIN_NORMAL ? x * copysign(0, y) : x / y),
  fastExp10f: (x) => 10 ** x,
  fastExpf: Math.exp,
  fastLog10f: Math.log10,
  fastLog2f: Math.log2,
  fastLogf: Math.log,
  fastPowf: (x, y) => 2 ** Math.fround(y * Math.fround(Math.log2(x))),
  fastSinf: fastSin,
  fastTanf: (x) => fastSin(x) * Math.fround(1 / Math.fround(fastCos(x))),
  fastTanhf: Math.tanh,
  fdim: (x, y) => {
    if (Number.isNaN(x) || Number.isNaN(y)) return NaN;
    return x > y ? x - y : 0;
  },
  finitef: (x) => Number(Number.isFinite(x)),
  floor: Math.floor,
  fmod: (x, y) => x % y,
  hadd: (x, y) => Math.floor((x + y) / 2),
  hiloint2double: fromWords,
  hypot,
  ilogb: (x) => {
    if (x === 0 || Number.isNaN(x)) return -(2 ** 31);
    return Number.isFinite(x) ? exponent(x) : 2 ** 31 - 1;
  },
  isfinited: (x) => Number(Number.isFinite(x)),
  isinf: (x) => Number(Math.abs(x) === Infinity),
  isnan: (x) => Number(Number.isNaN(x)),
  j0,
  j1,
  jn,
  ldexp: scaleByPowerOfTwo,
  "ldexp fi": scaleByPowerOfTwo32,
  lgamma,
  log: Math.log,
  log10: Math.log10,
  log1p: Math.log1p,
  log2: Math.log2,
  logb,
  // CUDA counts the leading zeros of a subnormal after flushing it.
  "logb f": (x) => (x !== 0 && Math.abs(x) < MIN_NORMAL ? -150 : logb(x)),
  nearbyint: roundHalfEven,
  "nextafter ff": nextafter32,
  nextafter,
  norm3d: hypot,
  norm4d: hypot,
  normcdf,
  normcdfinv: (x) => 0 - Math.SQRT2 * erfcinv(2 * x),
  // 1 to any power is 1, and so is -1 to an infinite power.
  pow: (x, y) => (x === 1 || (x === -1 && Math.abs(y) === Infinity) ? 1 : x ** y),
  "pow di": power((x) => x),
  "pow fi": power((x) => flush(Math.fround(x))),
  rcbrt: (x) => 1 / Math.cbrt(x),
  remainder,
  rhadd: (x, y) => Math.floor((x + y + 1) / 2),
  rhypot,
  rint: roundHalfEven,
  rnorm3d: rhypot,
  rnorm4d: rhypot,
  round,
  rsqrt: (x) => 1 / Math.sqrt(x),
  rsqrtRn: (x) => 1 / Math.sqrt(x),
  rcp64h: (x) => flush64(truncateToHighWord(1 / flush64(truncateToHighWord(x)))),
  saturatef: (x) => (Number.isNaN(x) ? 0 : Math.min(Math.max(x, 0), 1)),
  scalbn: scaleByPowerOfTwo,
  "scalbn fi": scaleByPowerOfTwo32,
  signbit: (x) => Number(x < 0 || Object.is(x, -0)),
  sin: Math.sin,
  sinh: Math.sinh,
  sinpi: (x) => (Number.isInteger(x) ? copysign(0, x) : sinpi(x)),
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
  tgamma,
  trunc: Math.trunc,
  y0,
  y1,
  yn,
};

// ---- directed rounding and conversions --------------------------------------------------------------------------------

const kinds = {
  float: "float32",
  double: "float64",
  int: "int32",
  uint: "uint32",
  ll: "int64",
  ull: "uint64",
} as const;
type Kind = (typeof kinds)[keyof typeof kinds];
const roundToInteger = { n: roundHalfEven, z: Math.trunc, d: Math.floor, u: Math.ceil };

function conversion(from: Kind, to: Kind, direction: RoundingMode): Overload {
  if (to === "float32" || to === "float64") {
    if (from !== "float64") return (x: Lane) => roundExact({ m: BigInt(x), e: 0 }, to, direction);
    return (x: Lane) => (Number.isFinite(x) && x !== 0 ? roundExact(exactOf(Number(x)), to, direction) : x);
  }
  const convert = isBig(to) ? floatToBig(to) : floatToInt(from as "float32", to);
  return (x) => convert(roundToInteger[direction](x as number));
}

const ROUNDED = /^(add|sub|mul|div|rcp|sqrt|fma)R([nzdu])$/;
const CONVERSION = /^(float|double|u?int|u?ll)2(float|double|u?int|u?ll)R([nzdu])$/;

/** The function of an overload. `letters` are those of its operands. */
export function libdeviceOverload(name: string, letters: string): Overload | undefined {
  const conversionMatch = CONVERSION.exec(name);
  if (conversionMatch) {
    const [, from, to, direction] = conversionMatch as unknown as [
      string,
      keyof typeof kinds,
      keyof typeof kinds,
      RoundingMode,
    ];
    return conversion(kinds[from], kinds[to], direction);
  }
  const dtype = letters.includes("d") ? "float64" : "float32";
  const roundingMatch = ROUNDED.exec(name === "fma" ? "fmaRn" : name);
  if (roundingMatch)
    return directed(roundingMatch[1] as DirectedOp, dtype, roundingMatch[2] as RoundingMode) as Overload;
  if (name === "llrint" || name === "llround") {
    const [toInteger, convert] = [name === "llrint" ? roundHalfEven : round, floatToBig("int64")];
    return (x) => convert(toInteger(x as number));
  }
  if (letters[0] === "l" && name === "abs") return (x: Lane) => (x < 0n ? -x : x);
  if (name === "mul24" && letters === "uu")
    return (x: Lane, y: Lane) => (BigInt(x) & 0xffffffn) * (BigInt(y) & 0xffffffn);
  return (
    (/[lv]/.test(letters) ? integers64 : integers32)[name] ??
    ((functions[`${name} ${letters}`] ?? functions[name]) as Overload | undefined)
  );
}

/** Functions that reinterpret bits. */
export const libdeviceBitcasts: ReadonlySet<string> = new Set([
  "intAsFloat",
  "floatAsInt",
  "uintAsFloat",
  "floatAsUint",
  "longlongAsDouble",
  "doubleAsLonglong",
]);
