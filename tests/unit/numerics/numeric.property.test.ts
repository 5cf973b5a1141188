import { describe, expect, it } from "vitest";
import { bigToFloat } from "../../../src/numerics/numeric-bits.js";
import { fma, round, roundAll, roundToTf32, truncateToTf32 } from "../../../src/numerics/numeric-float.js";
import { divide, multiply, remainder, umulhi, wrap } from "../../../src/numerics/numeric-int.js";
import { fc } from "../../support/property.js";

/** What a format is, told apart from the implementation: exponent and mantissa bits, bias, largest value, its overflow. */
const formats = {
  float8e5: { mantissa: 2, bias: 15, max: 57344, overflow: 57344 },
  float8e4nv: { mantissa: 3, bias: 7, max: 448, overflow: 448 },
  float8e4b8: { mantissa: 3, bias: 8, max: 240, overflow: 240 },
  float8e5b16: { mantissa: 2, bias: 16, max: 57344, overflow: 57344 },
  float16: { mantissa: 10, bias: 15, max: 65504, overflow: Infinity },
  bfloat16: { mantissa: 7, bias: 127, max: 3.3895313892515355e38, overflow: Infinity },
} as const;
type Name = keyof typeof formats;
const names = Object.keys(formats) as Name[];

/** The values of a rational number are told exactly as integers: every float64 is a multiple of 2^-1074. */
const UNIT = 1074;
function exactly(x: number): bigint {
  const bits = new BigUint64Array(Float64Array.of(Math.abs(x)).buffer)[0]!;
  const field = bits >> 52n;
  const fraction = bits & (2n ** 52n - 1n);
  return field === 0n ? fraction : (fraction | (2n ** 52n)) << (field - 1n);
}

/** Rounds |x|, in units of 2^-1074, to a whole number of quanta by comparing remainders. */
function oracle(exact: bigint, { mantissa, bias }: { mantissa: number; bias: number }, mode: "rtne" | "rtz" | "rna") {
  const length = exact.toString(2).length;
  const quantumBits = BigInt(Math.max(length - 1 - mantissa, UNIT + 1 - bias - mantissa));
  const quantum = 1n << quantumBits;
  const below = exact / quantum;
  const twice = 2n * (exact % quantum);
  const up = mode === "rtz" ? false : twice > quantum || (twice === quantum && (mode === "rna" || below % 2n === 1n));
  return (below + (up ? 1n : 0n)) * quantum;
}

/** Back to a number, for values of formats no wider than float32: those have few bits. */
function toNumber(exact: bigint): number {
  const bits = exact.toString(2);
  const zeros = bits.length - bits.replace(/0+$/, "").length;
  return Number(exact >> BigInt(zeros)) * 2 ** (zeros - 537) * 2 ** -537;
}

function rounded(x: number, name: Name): number {
  const { max, overflow } = formats[name];
  const magnitude = Number.isFinite(x) ? toNumber(oracle(exactly(x), formats[name], "rtne")) : Infinity;
  const value = magnitude > max ? overflow : magnitude;
  const negative = x < 0 || Object.is(x, -0);
  return negative ? (name.endsWith("b8") || name.endsWith("b16") ? 0 - value : -value) : value;
}

/** Numbers near, at and between the values of a format, and at its edges. */
function numbersNear(name: Name): fc.Arbitrary<number> {
  const { mantissa, bias, max } = formats[name];
  const binade = fc.integer({ min: -bias - mantissa - 2, max: Math.ceil(Math.log2(max)) + 1 });
  const halves = fc.integer({ min: 0, max: 2 ** (mantissa + 2) });
  const nudge = fc.constantFrom(0, 2 ** -52, -(2 ** -53), 2 ** -30, -(2 ** -30));
  const near = fc
    .tuple(binade, halves, nudge, fc.boolean())
    .map(([e, h, d, negative]) => (negative ? -1 : 1) * h * 2 ** (e - mantissa - 1) * (1 + d));
  return fc.oneof(near, near, fc.double({ noNaN: true }), fc.float({ noNaN: true }));
}

const runs = { numRuns: 2000 };

describe("rounding", () => {
  it.each(names)("should round to %s as exact arithmetic does", (name) => {
    const toDType = round(name);
    fc.assert(
      fc.property(numbersNear(name), (x) => {
        expect(toDType(x)).toBe(rounded(x, name));
      }),
      runs,
    );
  });

  it.each(names)("should round arrays to %s as single values", (name) => {
    fc.assert(
      fc.property(fc.array(fc.oneof(numbersNear(name), fc.constantFrom(NaN, Infinity, -Infinity, -0))), (xs) => {
        const toDType = round(name);
        expect([...roundAll(name, Float64Array.from(xs))]).toEqual(xs.map(toDType));
        const singles = Float32Array.from(xs);
        expect([...roundAll(name, singles)]).toEqual(Array.from(singles, toDType));
      }),
      { numRuns: 300 },
    );
  });

  it.each(names)("should truncate to %s as exact arithmetic does", (name) => {
    const toDType = round(name, { rounding: "rtz" });
    fc.assert(
      fc.property(numbersNear(name).filter(Number.isFinite), (x) => {
        const exact = toNumber(oracle(exactly(x), formats[name], "rtz"));
        expect(Math.abs(toDType(x))).toBe(Math.min(exact, formats[name].max));
      }),
      runs,
    );
  });

  it("should truncate to float32, and cut or round to tf32, as exact arithmetic does", () => {
    const float32 = { mantissa: 23, bias: 127 };
    const tf32 = { mantissa: 10, bias: 127 };
    const truncate = round("float32", { rounding: "rtz" });
    const finite = fc.oneof(numbersNear("bfloat16"), fc.float({ noNaN: true, noDefaultInfinity: true }));
    fc.assert(
      fc.property(
        finite.filter((x) => Math.abs(x) < 3.4e38),
        (x) => {
          expect(Math.abs(truncate(x))).toBe(toNumber(oracle(exactly(x), float32, "rtz")));
          const single = Math.fround(x);
          expect(Math.abs(truncateToTf32(single))).toBe(toNumber(oracle(exactly(single), tf32, "rtz")));
          expect(Math.abs(roundToTf32(single))).toBe(toNumber(oracle(exactly(single), tf32, "rna")));
        },
      ),
      runs,
    );
  });
});

describe("fused multiply-add", () => {
  /** Exact sums in units of 2^-1074, wide enough for products of float32. */
  const signed = (x: number) => (x < 0 ? -exactly(x) : exactly(x));

  it("should round the exact sum once", () => {
    const fused = fma("float32");
    const near1 = fc.tuple(fc.integer({ min: 2 ** 23, max: 2 ** 24 - 1 }), fc.integer({ min: -60, max: 20 }));
    const operand = fc.tuple(near1, fc.boolean()).map(([[m, e], negative]) => (negative ? -m : m) * 2 ** e);
    // A product and an addend far smaller or near a tie are what a float64 sum gets wrong.
    const addend = fc.oneof(
      operand,
      operand.map((x) => x * 2 ** -40),
      fc.constantFrom(2 ** -100, -(2 ** -100)),
    );
    fc.assert(
      fc.property(operand, operand, addend, (x, y, z) => {
        const exact = signed(x * y) + signed(z);
        const magnitude = toNumber(oracle(exact < 0n ? -exact : exact, { mantissa: 23, bias: 127 }, "rtne"));
        expect(Math.abs(fused(x, y, z))).toBe(magnitude);
      }),
      runs,
    );
  });
});

describe("64-bit integers", () => {
  it("should become floats in one rounding", () => {
    const toDType = bigToFloat("float32");
    const wide = fc.bigInt({ min: -(2n ** 63n), max: 2n ** 64n - 1n });
    // Near ties of float32: 24 bits, a half, and something small.
    const nearTie = fc
      .tuple(
        fc.bigInt({ min: 2n ** 23n, max: 2n ** 24n - 1n }),
        fc.integer({ min: 3, max: 39 }),
        fc.integer({ min: -1, max: 1 }),
      )
      .map(([m, shift, nudge]) => (m << BigInt(shift)) + (1n << BigInt(shift - 1)) + BigInt(nudge));
    fc.assert(
      fc.property(fc.oneof(wide, nearTie), (x) => {
        const magnitude = (x < 0n ? -x : x) << BigInt(UNIT);
        expect(Math.abs(toDType(x))).toBe(toNumber(oracle(magnitude, { mantissa: 23, bias: 127 }, "rtne")));
      }),
      runs,
    );
  });
});

describe("integers", () => {
  const int32 = fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 });
  const uint32 = fc.integer({ min: 0, max: 2 ** 32 - 1 });

  it("should agree with BigInt", () => {
    const [toInt, toUint] = [wrap("int32"), wrap("uint32")];
    fc.assert(
      fc.property(int32, int32, uint32, uint32, (a, b, c, d) => {
        const [A, B, C, D] = [BigInt(a), BigInt(b), BigInt(c), BigInt(d)];
        expect(toInt(multiply(a, b))).toBe(Number(BigInt.asIntN(32, A * B)));
        expect(toUint(multiply(c, d))).toBe(Number(BigInt.asUintN(32, C * D)));
        expect(umulhi(c, d)).toBe(Number((C * D) >> 32n));
        if (b !== 0) expect([divide(a, b), remainder(a, b)]).toEqual([Number(A / B), Number(A % B)]);
        if (d !== 0) expect([divide(c, d), remainder(c, d)]).toEqual([Number(C / D), Number(C % D)]);
      }),
      runs,
    );
  });
});
