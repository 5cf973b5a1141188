/** Float formats, and rounding to them. Every function rounds a float64 once. */
import { isSigned } from "../types/dtype.js";
import { bitsOf, type FloatDType, isFloat, type NumericDType } from "./numeric-int.js";
import { allocateUninitialized } from "./buffer-pool.js";

/** The bits of a float64, as two 32-bit words or as one integer. */

/** Scratch memory: the high word is at byte 0, the low word at byte 4. */
const scratch = new DataView(new ArrayBuffer(8));

export function highWordOf(x: number): number {
  scratch.setFloat64(0, x);
  return scratch.getInt32(0);
}

export function lowWordOf(x: number): number {
  scratch.setFloat64(0, x);
  return scratch.getInt32(4);
}

export function fromWords(high: number, low: number): number {
  scratch.setInt32(0, high);
  scratch.setInt32(4, low);
  return scratch.getFloat64(0);
}

/** The bits as a signed integer. */
export function float64Bits(x: number): bigint {
  scratch.setFloat64(0, x);
  return scratch.getBigInt64(0);
}

export function fromFloat64Bits(bits: bigint): number {
  scratch.setBigInt64(0, bits);
  return scratch.getFloat64(0);
}

interface FloatFormat {
  readonly mantissaBits: number;
  readonly bias: number;
  /** The largest finite result of a cast. */
  readonly max: number;
  readonly hasInfinity: boolean;
  /** The code of the NaN that casts return. In a format without NaN, NaN becomes `max`. */
  readonly nan: number | undefined;
  readonly hasNegativeZero: boolean;
  /**
   * True if casts clamp values above `max` by default. Otherwise they become infinity, or NaN in a format without
   * infinity.
   */
  readonly isSaturating: boolean;
  readonly ties: "even" | "away";
}

const ieee = { hasInfinity: true, hasNegativeZero: true, isSaturating: false, ties: "even" } as const;

/**
 * The defaults are those of casts that Triton 3.9 compiles for sm_90, as shown by its PTX. `cvt.rn.satfinite.e4m3x2`
 * and `cvt.rn.satfinite.e5m2x2` clamp values out of range, including infinity. float8e4b15 uses integer instructions
 * that clamp to 1.75 (code 0x7e), round ties away from zero and turn NaN into 1.75; code 0x7f (1.875) can still be
 * read. NaN codes are IEEE's default quiet NaN. The `fnuz` formats exist only on AMD.
 */
export const floatFormats: { readonly [D in FloatDType]: FloatFormat } = {
  float8e5: { ...ieee, mantissaBits: 2, bias: 15, max: 57344, nan: 0x7f, isSaturating: true },
  float8e4nv: { ...ieee, mantissaBits: 3, bias: 7, max: 448, nan: 0x7f, isSaturating: true, hasInfinity: false },
  float8e4b15: {
    ...ieee,
    mantissaBits: 3,
    bias: 15,
    max: 1.75,
    nan: undefined,
    isSaturating: true,
    hasInfinity: false,
    ties: "away",
  },
  float8e4b8: fnuz({ mantissaBits: 3, bias: 8, max: 240 }),
  float8e5b16: fnuz({ mantissaBits: 2, bias: 16, max: 57344 }),
  float16: { ...ieee, mantissaBits: 10, bias: 15, max: 65504, nan: 0x7e00 },
  bfloat16: { ...ieee, mantissaBits: 7, bias: 127, max: 2 ** 127 * (2 - 2 ** -7), nan: 0x7fc0 },
  float32: { ...ieee, mantissaBits: 23, bias: 127, max: 2 ** 127 * (2 - 2 ** -23), nan: 0x7fc00000 },
  float64: { ...ieee, mantissaBits: 52, bias: 1023, max: Number.MAX_VALUE, nan: NaN },
};

function fnuz(size: Pick<FloatFormat, "mantissaBits" | "bias" | "max">): FloatFormat {
  return { ...ieee, ...size, hasInfinity: false, nan: 0x80, hasNegativeZero: false, isSaturating: true };
}

/** The index of a float64's high word among its two words in the memory of an array. */
const HIGH_WORD = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1 ? 1 : 0;

/** Adding and subtracting this many quanta rounds a smaller float64 to a multiple of the quantum, ties to even. */
const ROUNDING_SHIFT = 1.5 * 2 ** 52;

/**
 * The distance between neighboring values of a format, by the exponent field of a float64. Infinite above the format's
 * last binade.
 */
export function quanta({ mantissaBits, bias, max }: FloatFormat): Float64Array {
  const table = new Float64Array(2048).fill(Infinity);
  const last = Math.floor(Math.log2(max));
  for (let exponent = -1023; exponent <= last; exponent++) {
    table[exponent + 1023] = 2 ** (Math.max(exponent, 1 - bias) - mantissaBits);
  }
  return table;
}

/** The exponent field of a float64: 0 for zero and subnormals, 2047 for infinity and NaN. */
export function exponentField(x: number): number {
  return (highWordOf(x) >>> 20) & 0x7ff;
}

export type Rounding = "rtne" | "rtz";
export interface RoundOptions {
  /** `rtz` is Triton's `fp_downcast_rounding="rtz"`. */
  readonly rounding?: Rounding | undefined;
  /** True to clamp values beyond the largest finite one. The default is the behavior of compiled Triton on sm_90. */
  readonly saturate?: boolean | undefined;
}

/** Rounds any float64 to a value that is exactly representable in the dtype. */
export function round(dtype: FloatDType, options: RoundOptions = {}): (x: number) => number {
  const { rounding = "rtne", saturate = floatFormats[dtype].isSaturating } = options;
  const key = `${dtype} ${rounding} ${saturate}`;
  let rounder = rounders.get(key);
  if (rounder === undefined) rounders.set(key, (rounder = makeRounder(dtype, rounding, saturate)));
  return rounder;
}

/** Cached, because creating a rounder's table costs more than rounding a small tile. */
const rounders = new Map<string, (x: number) => number>();

function makeRounder(dtype: FloatDType, rounding: Rounding, saturate: boolean): (x: number) => number {
  if (dtype === "float64") return (x) => x;
  const format = floatFormats[dtype];
  if (rounding === "rtz") return roundByQuanta(format, outOfRangeTowardsZero(format, saturate), truncate);
  if (dtype === "float32" && !saturate) return Math.fround;
  const outOfRange = outOfRangeToNearest(format, saturate);
  if (format.ties === "away") return roundByQuanta(format, outOfRange, halfAway);
  const round = roundToNearestEven(format, outOfRange);
  return format.hasNegativeZero ? round : (x) => round(x) + 0;
}

/**
 * Rounds the elements of an array like {@link round}, to a dtype stored in a Float32Array. One loop without calls is
 * three times as fast.
 */
export function roundAll(
  dtype: Exclude<FloatDType, "float64">,
  from: Float32Array | Float64Array,
  options: RoundOptions = {},
): Float32Array {
  const out = allocateUninitialized(Float32Array, from.length);
  const { ties, max, hasNegativeZero } = floatFormats[dtype];
  const roundOne = round(dtype, options);
  if (options.rounding === "rtz" || ties === "away" || !hasNegativeZero) {
    for (let i = 0; i < out.length; i++) out[i] = roundOne(from[i]!);
    return out;
  }
  // Reads exponents from the array's own memory: 11 bits of a float64's high word, or 8 bits of a float32.
  const isDouble = from instanceof Float64Array;
  const bits = new Int32Array(from.buffer, from.byteOffset, isDouble ? 2 * from.length : from.length);
  const [step, firstWord, drop, mask] = isDouble ? [2, HIGH_WORD, 20, 0x7ff] : [1, 0, 23, 0xff];
  const table = shiftsOf(dtype, isDouble);
  for (let i = 0; i < out.length; i++) {
    const x = from[i]!;
    const highWord = bits[i * step + firstWord]!;
    const shift = table[(highWord >>> drop) & mask]!;
    const magnitude = Math.abs(x) + shift - shift;
    if (magnitude <= max) out[i] = highWord < 0 ? -magnitude : magnitude;
    else out[i] = roundOne(x);
  }
  return out;
}

const shifts = new Map<string, Float64Array>();

/** {@link quanta} times `ROUNDING_SHIFT`, indexed by the exponent field of a float64 or float32. */
function shiftsOf(dtype: FloatDType, isDouble: boolean): Float64Array {
  const key = `${dtype} ${isDouble}`;
  let table = shifts.get(key);
  if (table === undefined) {
    const byDouble = quanta(floatFormats[dtype]).map((quantum) => quantum * ROUNDING_SHIFT);
    // Fields 0 to 254 of a float32 correspond to 896 and up of a float64; subnormals (0) have the quantum of 897.
    table = isDouble ? byDouble : byDouble.slice(896, 896 + 256).fill(Infinity, 255);
    shifts.set(key, table);
  }
  return table;
}

/** Converts values above the largest finite one, infinities and NaN. */
type OutOfRange = (x: number) => number;

function outOfRangeToNearest({ max, nan, hasInfinity }: FloatFormat, saturate: boolean): OutOfRange {
  const unsaturated = hasInfinity ? Infinity : NaN;
  return withSign(saturate ? max : unsaturated, nan === undefined ? max : NaN);
}

/** The magnitude with the sign of a number, and the result of NaN. */
function withSign(magnitude: number, nanResult: number): OutOfRange {
  return (x) => {
    if (x !== x) return nanResult;
    return x < 0 ? -magnitude : magnitude;
  };
}

/** Truncation never leaves the finite range. Infinity stays, because Triton takes e5m2's byte from `cvt.rz.f16.f32`. */
function outOfRangeTowardsZero({ max, nan, hasInfinity }: FloatFormat, saturate: boolean): OutOfRange {
  const withoutInfinity = saturate ? max : NaN;
  const nanResult = nan === undefined ? max : NaN;
  const [ofInfinity, ofFinite] = [
    withSign(hasInfinity ? Infinity : withoutInfinity, nanResult),
    withSign(max, nanResult),
  ];
  return (x) => (Math.abs(x) === Infinity ? ofInfinity(x) : ofFinite(x));
}

/** Above the last binade the quantum is infinite, so the sum is NaN and fails the comparison, as does NaN itself. */
function roundToNearestEven(format: FloatFormat, outOfRange: OutOfRange): (x: number) => number {
  const table = quanta(format).map((quantum) => quantum * ROUNDING_SHIFT);
  const { max } = format;
  return (x) => {
    const high = highWordOf(x);
    const shift = table[(high >>> 20) & 0x7ff]!;
    const magnitude = Math.abs(x) + shift - shift;
    if (magnitude <= max) return high < 0 ? -magnitude : magnitude;
    return outOfRange(x);
  };
}

function roundByQuanta(format: FloatFormat, outOfRange: OutOfRange, toInteger: (x: number) => number) {
  const table = quanta(format);
  const { max, hasNegativeZero } = format;
  return (x: number): number => {
    const quantum = table[exponentField(x)]!;
    // Scaling by a power of two is exact.
    const magnitude = quantum === Infinity ? Infinity : toInteger(Math.abs(x) / quantum) * quantum;
    if (!(magnitude <= max)) return outOfRange(x);
    const negative = x < 0 || Object.is(x, -0);
    return negative && (hasNegativeZero || magnitude > 0) ? -magnitude : magnitude;
  };
}

const truncate = Math.floor;
function halfAway(x: number): number {
  const floor = Math.floor(x);
  return x - floor >= 0.5 ? floor + 1 : floor;
}

/** Truncates a float32 to tf32. Tensor cores ignore the low 13 mantissa bits, and Triton 3.9 emits no conversion. */
export const truncateToTf32: (x: number) => number = roundTo11Bits("rtz");

/** Rounds a float32 to tf32, ties away from zero: `cvt.rna.tf32.f32`, with which `tf32x3` splits operands. */
export const roundToTf32: (x: number) => number = roundTo11Bits("rna");

function roundTo11Bits(mode: "rtz" | "rna"): (x: number) => number {
  const tf32 = { ...floatFormats.float32, mantissaBits: 10, max: 2 ** 127 * (2 - 2 ** -10) };
  return mode === "rtz"
    ? roundByQuanta(tf32, outOfRangeTowardsZero(tf32, false), truncate)
    : roundByQuanta(tf32, outOfRangeToNearest(tf32, false), halfAway);
}

/**
 * `x * y + z` with one rounding, for operands of any dtype up to float32. The product is exact in a float64, and the
 * sum is rounded to odd. Rounding that to a format of at most 51 bits equals rounding the exact sum (Boldo and
 * Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
 */
export function fma(dtype: Exclude<FloatDType, "float64">): (x: number, y: number, z: number) => number {
  const toDType = round(dtype, { saturate: false });
  return (x, y, z) => toDType(sumToOdd(x * y, z));
}

function sumToOdd(a: number, b: number): number {
  const sum = a + b;
  // Knuth's two-sum: sum + error is exactly a + b.
  const bPart = sum - a;
  const error = a - (sum - bPart) + (b - bPart);
  if (error === 0 || !Number.isFinite(sum)) return sum;
  const [high, low] = [highWordOf(sum), lowWordOf(sum)];
  if ((low & 1) === 1) return sum;
  if (error > 0 === sum > 0) return fromWords(high, low + 1);
  return fromWords(low === 0 ? high - 1 : high, low - 1);
}

/** True if a dtype can represent this value exactly, including the sign of zero. */
export function isExactlyRepresentable(dtype: NumericDType, value: number): boolean {
  if (isFloat(dtype)) return Object.is(round(dtype, { saturate: false })(value), value);
  const bits = bitsOf(dtype);
  const [min, end] = isSigned(dtype) ? [-(2 ** (bits - 1)), 2 ** (bits - 1)] : [0, 2 ** bits];
  return Number.isInteger(value) && value >= min && value < end;
}

// Exact numbers, and their rounding to a float dtype in any direction, so that each operation rounds once.

/** To nearest even, toward zero, down, up. */
export type RoundingMode = "n" | "z" | "d" | "u";

/** `m · 2^e`. `isTruncated` means that less than one unit in the last place of m was truncated from its magnitude. */
interface Exact {
  readonly m: bigint;
  readonly e: number;
  readonly isTruncated?: boolean;
}

const bitLength = (magnitude: bigint): number => (magnitude === 0n ? 0 : magnitude.toString(2).length);
const absolute = (x: bigint): bigint => (x < 0n ? -x : x);
const shift = (x: bigint, count: number): bigint => (count < 0 ? x >> BigInt(-count) : x << BigInt(count));

/** The exact value of a finite float64. */
export function exactOf(x: number): Exact {
  const bits = float64Bits(x);
  const field = Number((bits >> 52n) & 2047n);
  const fraction = bits & (2n ** 52n - 1n);
  const m = field === 0 ? fraction : fraction + 2n ** 52n;
  return { m: x < 0 ? -m : m, e: Math.max(field, 1) - 1075 };
}

/** Rounds an exact number to a float dtype in a direction. Overflow follows IEEE 754. */
export function roundExact(
  { m, e, isTruncated = false }: Exact,
  dtype: "float32" | "float64",
  direction: RoundingMode,
): number {
  const { mantissaBits, bias, max } = floatFormats[dtype];
  const isNegative = m < 0n;
  const magnitude = absolute(m);
  // The exponent of the result's last place.
  const lastPlace = Math.max(bitLength(magnitude) + e - 1, 1 - bias) - mantissaBits;
  const drop = lastPlace - e;
  let mantissa = shift(magnitude, -drop);
  const truncated = drop > 0 ? magnitude - shift(mantissa, drop) : 0n;
  const half = drop > 0 ? 1n << BigInt(drop - 1) : 1n;
  const isInexact = truncated !== 0n || isTruncated;
  const isNearestAbove = truncated > half || (truncated === half && (isTruncated || (mantissa & 1n) === 1n));
  const shouldIncrement = { n: isNearestAbove, z: false, d: isInexact && isNegative, u: isInexact && !isNegative }[
    direction
  ];
  if (shouldIncrement) mantissa += 1n;
  const isClamped = direction === "z" || direction === (isNegative ? "u" : "d");
  let value = Number(mantissa) * 2 ** lastPlace;
  if (value > max) value = isClamped ? max : Infinity;
  return isNegative ? -value : value;
}

export const productOf = (x: Exact, y: Exact): Exact => ({ m: x.m * y.m, e: x.e + y.e });

export function sumOf(x: Exact, y: Exact): Exact {
  const e = Math.min(x.e, y.e);
  return { m: shift(x.m, x.e - e) + shift(y.m, y.e - e), e };
}

/** Bits of quotients and roots: more than any dtype has, so `isTruncated` suffices for the truncated part. */
const BITS = 128;

export function quotientOf(x: Exact, y: Exact): Exact {
  const shiftCount = Math.max(BITS + bitLength(absolute(y.m)) - bitLength(absolute(x.m)), 0);
  const dividend = shift(x.m, shiftCount);
  return { m: dividend / y.m, e: x.e - shiftCount - y.e, isTruncated: dividend % y.m !== 0n };
}

/** The square root of a positive number. */
export function rootOf({ m, e }: Exact): Exact {
  const shiftCount = 2 * BITS + (e & 1);
  const square = shift(m, shiftCount);
  let root = 1n << BigInt(Math.ceil(bitLength(square) / 2));
  for (let next = root - 1n; next < root; next = (root + square / root) >> 1n) root = next;
  return { m: root, e: (e - shiftCount) / 2, isTruncated: root * root !== square };
}

export type DirectedOp = "add" | "sub" | "mul" | "div" | "rcp" | "sqrt" | "fma";

function divisorOf(op: DirectedOp, x: number, y: number): number {
  if (op === "div") return y;
  return op === "rcp" ? x : 1;
}

/** An IEEE 754 operation whose result is rounded in a direction. Operands are floats of the dtype. */
export function directed(op: DirectedOp, dtype: "float32" | "float64", direction: RoundingMode) {
  const toDType = (exact: Exact) => roundExact(exact, dtype, direction);
  /** A zero sum is +0, or -0 when rounding down, unless both operands are zeros of the same sign. */
  const sum = (exact: Exact, nearest: number, haveOneSign: boolean) => {
    if (exact.m !== 0n) return toDType(exact);
    if (haveOneSign) return nearest;
    return direction === "d" ? -0 : 0;
  };
  return (x: number, y = 0, z = 0): number => {
    const nearest = { add: x + y, sub: x - y, mul: x * y, div: x / y, rcp: 1 / x, sqrt: Math.sqrt(x), fma: x * y + z }[
      op
    ];
    const isExact = [x, y, z].every(Number.isFinite) && divisorOf(op, x, y) !== 0 && !Number.isNaN(nearest);
    if (!isExact) return nearest;
    const [a, b, c] = [exactOf(x), exactOf(y), exactOf(z)];
    switch (op) {
      case "add":
        return sum(sumOf(a, b), nearest, x === 0 && y === 0 && Object.is(x, y));
      case "sub":
        return sum(sumOf(a, { m: -b.m, e: b.e }), nearest, x === 0 && y === 0 && !Object.is(x, y));
      case "fma":
        return sum(sumOf(productOf(a, b), c), nearest, x * y === 0 && z === 0 && Object.is(x * y, z));
      case "mul":
        return x * y === 0 && (x === 0 || y === 0) ? nearest : toDType(productOf(a, b));
      case "div":
        return x === 0 ? nearest : toDType(quotientOf(a, b));
      case "rcp":
        return toDType(quotientOf({ m: 1n, e: 0 }, a));
      case "sqrt":
        return x === 0 ? nearest : toDType(rootOf(a));
      default:
        return op satisfies never;
    }
  };
}
