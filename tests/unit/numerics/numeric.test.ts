import { describe, expect, it } from "vitest";
import { dtypeNames } from "../../../src/types/dtype.js";
import { allocate } from "../../../src/numerics/buffer-pool.js";
import {
  fromBits,
  fromBytes,
  toBits,
  toBytes,
  bigToFloat,
  convert,
  floatToBig,
  floatToInt,
} from "../../../src/numerics/numeric-bits.js";
import {
  fma,
  round,
  roundAll,
  roundToTf32,
  truncateToTf32,
  isExactlyRepresentable,
} from "../../../src/numerics/numeric-float.js";
import {
  divide,
  divideBig,
  multiply,
  remainder,
  remainderBig,
  shiftLeft,
  shiftLeftBig,
  shiftRight,
  shiftRightBig,
  umulhi,
  umulhiBig,
  wrap,
  wrapBig,
  bitsOf,
  isFloat,
} from "../../../src/numerics/numeric-int.js";

const narrowFloats = dtypeNames.filter(isFloat).filter((dtype) => dtype !== "float32" && dtype !== "float64");

describe("codes", () => {
  it.each(narrowFloats)("should round-trip every code of %s", (dtype) => {
    const [decode, encode] = [fromBits(dtype), toBits(dtype)];
    const differing: number[] = [];
    for (let code = 0; code < 2 ** bitsOf(dtype); code++) {
      const value = decode(code);
      if (Number.isNaN(value) ? !Number.isNaN(decode(encode(value))) : encode(value) !== code) differing.push(code);
    }
    expect(differing).toEqual([]);
  });

  it.each(narrowFloats)("should leave every value that a cast to %s gives as it is", (dtype) => {
    const decode = fromBits(dtype);
    const values = Array.from({ length: 2 ** bitsOf(dtype) }, (_, code) => decode(code)).filter(
      (value) => Number.isFinite(value) && !(dtype === "float8e4b15" && Math.abs(value) > 1.75),
    );
    expect(values.map(round(dtype))).toEqual(values);
    expect(values.map(round(dtype, { rounding: "rtz" }))).toEqual(values);
    expect([...roundAll(dtype, Float64Array.from(values))]).toEqual(values);
    expect([...roundAll(dtype, Float32Array.from(values))]).toEqual(values);
  });

  it.each([
    ["float8e5", 0x7b, 57344],
    ["float8e5", 0x7c, Infinity],
    ["float8e5", 0xfd, NaN],
    ["float8e5", 0x01, 2 ** -16],
    ["float8e4nv", 0x7e, 448],
    ["float8e4nv", 0x7f, NaN],
    ["float8e4nv", 0x01, 2 ** -9],
    ["float8e4b15", 0x7f, 1.875],
    ["float8e4b15", 0x01, 2 ** -17],
    ["float8e4b8", 0x7f, 240],
    ["float8e4b8", 0x80, NaN],
    ["float8e5b16", 0x7f, 57344],
    ["float8e5b16", 0x80, NaN],
    ["float16", 0x0001, 2 ** -24],
    ["float16", 0x7bff, 65504],
    ["float16", 0xfc00, -Infinity],
    ["bfloat16", 0x3f81, 1.0078125],
    ["bfloat16", 0x0001, 2 ** -133],
    ["bfloat16", 0x8000, -0],
    ["float32", 0x00000001, 2 ** -149],
    ["int8", 0x80, -128],
    ["int16", 0xffff, -1],
    ["int32", 0x80000000, -(2 ** 31)],
    ["uint16", 0xffff, 65535],
  ] as const)("should decode %s 0x%s", (dtype, code, value) => {
    expect(fromBits(dtype)(code)).toBe(value);
    if (!Number.isNaN(value)) expect(toBits(dtype)(value)).toBe(code);
  });

  it("should give bytes as a device holds them", () => {
    expect([...toBytes("bfloat16", Float32Array.of(1, -2))]).toEqual([0x80, 0x3f, 0x00, 0xc0]);
    expect([...toBytes("int1", Uint8Array.of(1, 0))]).toEqual([1, 0]);
    expect([...toBytes("int64", BigInt64Array.of(-2n))]).toEqual([0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
  });

  it.each(dtypeNames)("should read back bytes of %s, wherever they lie", (dtype) => {
    const data = allocate(dtype, 3);
    if (data instanceof BigInt64Array || data instanceof BigUint64Array) data.set([0n, 1n, 77n]);
    else data.set([0, 1, dtype === "int1" ? 1 : 1.5]);
    const bytes = toBytes(dtype, data);
    const elsewhere = new Uint8Array(bytes.length + 1);
    elsewhere.set(bytes, 1);
    expect(fromBytes(dtype, elsewhere.subarray(1))).toEqual(data);
  });
});

describe("rounding", () => {
  it("should clamp to finite fp8, infinity included, as cvt.rn.satfinite does", () => {
    expect([1e9, -1e9, Infinity].map(round("float8e4nv"))).toEqual([448, -448, 448]);
    expect([1e9, -1e9, Infinity].map(round("float8e5"))).toEqual([57344, -57344, 57344]);
    expect([NaN, NaN].map(round("float8e5"))).toEqual([NaN, NaN]);
  });

  it("should give infinity, or NaN where there is none, when asked not to saturate", () => {
    expect([61439, 61440, -1e9].map(round("float8e5", { saturate: false }))).toEqual([57344, Infinity, -Infinity]);
    expect([464, 464.0001].map(round("float8e4nv", { saturate: false }))).toEqual([448, NaN]);
  });

  it("should round ties of float8e4b15 away from zero and clamp to 1.75, NaN too", () => {
    expect([1.0625, -1.0625, 1.8, 1.9, Infinity, NaN].map(round("float8e4b15"))).toEqual([
      1.125, -1.125, 1.75, 1.75, 1.75, 1.75,
    ]);
    expect(round("float8e4b15")(2 ** -18 * (1 - 2 ** -53))).toBe(0);
  });

  it("should overflow to infinity from halfway above the largest finite value", () => {
    expect([65519.999, 65520].map(round("float16"))).toEqual([65504, Infinity]);
  });

  it("should stay finite toward zero, but keep infinities", () => {
    const round16 = round("float16", { rounding: "rtz" });
    expect([65520, -1e300, Infinity, 1.0009, -(2 ** -25)].map(round16)).toEqual([65504, -65504, Infinity, 1, -0]);
    expect([1e9, Infinity].map(round("float8e5", { rounding: "rtz" }))).toEqual([57344, Infinity]);
  });

  it("should round a float64 once", () => {
    // Through float32 this would first become the tie 1 + 2^-11, then 1.
    expect(round("float16")(1 + 2 ** -11 + 2 ** -40)).toBe(1 + 2 ** -10);
    expect([...roundAll("float16", Float64Array.of(1 + 2 ** -11 + 2 ** -40))]).toEqual([1 + 2 ** -10]);
  });

  it("should have no negative zero in the fnuz formats", () => {
    expect(round("float8e4b8")(-1e-9)).toBe(0);
    expect(round("float8e5b16", { rounding: "rtz" })(-1e-9)).toBe(0);
  });

  it("should cut tf32 operands off after 10 bits, or round them away from zero", () => {
    const x = 1 + 2 ** -11;
    expect([x, -x, NaN, Infinity].map(truncateToTf32)).toEqual([1, -1, NaN, Infinity]);
    expect([x, -x].map(roundToTf32)).toEqual([1 + 2 ** -10, -1 - 2 ** -10]);
  });

  it("should fuse x * y + z in one rounding", () => {
    const x = Math.fround(1 + 2 ** -12);
    // The exact sum lies just above a tie of float32; a float64 sum would fall on it.
    const z = 2 ** -80;
    expect(fma("float32")(x, x, z)).toBe(1 + 2 ** -11 + 2 ** -23);
    expect(Math.fround(x * x + z)).toBe(1 + 2 ** -11);
    expect(fma("float32")(x, x, -z)).toBe(1 + 2 ** -11);
  });

  it.each([
    ["float16", 2049, false],
    ["float16", 2048, true],
    ["float16", 65536, false],
    ["bfloat16", 0.1, false],
    ["int8", -128, true],
    ["int8", 128, false],
    ["int1", 2, false],
    ["uint64", 2 ** 64, false],
    ["float8e4nv", 500, false],
  ] as const)("should know whether %s holds %s", (dtype, value, held) => {
    expect(isExactlyRepresentable(dtype, value)).toBe(held);
  });
});

describe("integers", () => {
  it("should drop high bits", () => {
    expect([200, -129, 2 ** 31].map(wrap("int8"))).toEqual([-56, 127, 0]);
    expect([-1, 65536].map(wrap("uint16"))).toEqual([65535, 0]);
    expect([2 ** 31, -(2 ** 31) - 1].map(wrap("int32"))).toEqual([-(2 ** 31), 2 ** 31 - 1]);
    expect([-1].map(wrap("uint32"))).toEqual([2 ** 32 - 1]);
    expect([2, 3].map(wrap("int1"))).toEqual([0, 1]);
    expect([wrapBig("int64")(2n ** 63n), wrapBig("uint64")(-1n)]).toEqual([-(2n ** 63n), 2n ** 64n - 1n]);
    expect(multiply(65537, 65537)).toBe(131073);
  });

  it("should divide toward zero, with 0 for division by zero", () => {
    expect([divide(-7, 2), divide(7, -2), divide(-1, 2), divide(5, 0)]).toEqual([-3, -3, 0, 0]);
    expect([remainder(-7, 2), remainder(7, -2), remainder(-4, 2), remainder(5, 0)]).toEqual([-1, 1, 0, 0]);
    expect(wrap("int32")(divide(-(2 ** 31), -1))).toBe(-(2 ** 31));
    expect(divide(2 ** 32 - 2, 2 ** 32 - 1)).toBe(0);
    expect([divideBig(-7n, 2n), divideBig(1n, 0n), remainderBig(-7n, 2n), remainderBig(1n, 0n)]).toEqual([
      -3n,
      0n,
      -1n,
      0n,
    ]);
  });

  it("should clamp shift counts to the width, taken as unsigned", () => {
    const left = shiftLeft("int32");
    expect([left(1, 31), left(1, 32), left(1, -1)]).toEqual([-(2 ** 31), 0, 0]);
    expect([shiftRight("int32")(-8, 1), shiftRight("int32")(-8, 40), shiftRight("int8")(-8, 9)]).toEqual([-4, -1, -1]);
    expect([shiftRight("uint32")(2 ** 32 - 1, 1), shiftRight("uint32")(5, 32)]).toEqual([2 ** 31 - 1, 0]);
    expect([shiftLeftBig(1n, 64n), shiftRightBig(-8n, 1n), shiftRightBig(-8n, 99n)]).toEqual([0n, -4n, -1n]);
  });

  it("should take operands of umulhi as unsigned", () => {
    expect(umulhi(-1, -1)).toBe(2 ** 32 - 2);
    expect(umulhi(0x12345678, 0x9abcdef0)).toBe(Number((0x12345678n * 0x9abcdef0n) >> 32n));
    expect(umulhiBig(-1n, 2n)).toBe(1n);
  });
});

describe("conversions", () => {
  it("should clamp floats to the integer's bounds, as cvt.rzi does", () => {
    expect([1e20, -1e20, 1.9, -1.9, NaN].map(floatToInt("float32", "int32"))).toEqual([
      2 ** 31 - 1,
      -(2 ** 31),
      1,
      -1,
      0,
    ]);
    expect([-1, 1e10].map(floatToInt("float32", "uint32"))).toEqual([0, 2 ** 32 - 1]);
    expect(floatToInt("float64", "int32")(NaN)).toBe(-(2 ** 31));
    expect([1e30, -1e30, NaN, 2 ** 53].map(floatToBig("int64"))).toEqual([
      2n ** 63n - 1n,
      -(2n ** 63n),
      -(2n ** 63n),
      2n ** 53n,
    ]);
    expect([-1, 2 ** 63, 2 ** 64].map(floatToBig("uint64"))).toEqual([0n, 2n ** 63n, 2n ** 64n - 1n]);
  });

  it("should convert to 8 bits by way of 16", () => {
    expect([300, -129, 1e9, -1e9].map(floatToInt("float32", "int8"))).toEqual([44, 127, -1, 0]);
    expect([300, -1, 1e9].map(floatToInt("float32", "uint8"))).toEqual([44, 0, 255]);
  });

  it("should convert to int1 by comparing with zero", () => {
    expect([0, -0, 0.1, NaN].map(convert("float32", "int1"))).toEqual([0, 0, 1, 1]);
    expect([0, 2].map(convert("int32", "int1"))).toEqual([0, 1]);
  });

  it("should round 64-bit integers once", () => {
    const x = 2n ** 62n + 2n ** 38n + 1n; // just above a tie of float32; Number(x) falls on the tie
    expect(bigToFloat("float32")(x)).toBe(2 ** 62 + 2 ** 39);
    expect(bigToFloat("float32")(-x)).toBe(-(2 ** 62) - 2 ** 39);
    expect(bigToFloat("float16")(2n ** 63n)).toBe(Infinity);
    expect(bigToFloat("float64")(2n ** 53n + 1n)).toBe(2 ** 53);
  });
});
