/** Exact numbers, and their rounding to a float dtype in any direction, so that each operation rounds once. */
import { floatFormats, float64Bits } from "./numeric-float.js";

/** To nearest even, toward zero, down, up. */
export type RoundingMode = "n" | "z" | "d" | "u";

/** `m · 2^e`. `isTruncated` means that less than one unit in the last place of m was truncated from its magnitude. */
export interface Exact {
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
