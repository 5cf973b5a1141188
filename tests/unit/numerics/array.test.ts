import { describe, expect, it } from "vitest";
import {
  arange,
  broadcastTo,
  expandDims,
  flip,
  fromNumbers,
  full,
  permute,
  reshape,
  sizeOf,
  slice,
  stack,
  tileArray,
  type TileArray,
  cast,
} from "../../../src/numerics/array.js";
import { dot } from "../../../src/numerics/array-dot.js";
import { map1, map2, map3, mapBig1, mapBig2, mapBig3, select } from "../../../src/numerics/array-map.js";
import { reduce, reduceBig, scan, scanBig } from "../../../src/numerics/array-reduce.js";
import { multiply } from "../../../src/numerics/numeric-int.js";
import { fc } from "../../support/property.js";

const add = (x: number, y: number) => x + y;
const iota = (...shape: number[]) => reshape(arange(0, sizeOf(shape)), shape);
const values = (x: TileArray) => [...x.data];
const poisoned = (x: TileArray, ...lanes: number[]) => {
  const poison = new Uint8Array(x.data.length);
  for (const lane of lanes) poison[lane] = 1;
  return tileArray(x.dtype, x.shape, x.data, poison);
};
const poisonedLanes = (x: TileArray) => [...(x.poison ?? [])].flatMap((bit, lane) => (bit ? [lane] : []));

describe("movement", () => {
  it("should make tiles of one value, of counts and of given values", () => {
    expect(full([2, 2], 7n, "int64").data).toEqual(BigInt64Array.of(7n, 7n, 7n, 7n));
    expect(arange(3, 7)).toEqual({ dtype: "int32", shape: [4], data: Int32Array.of(3, 4, 5, 6) });
    expect(full([], 1, "int1").data).toEqual(Uint8Array.of(1));
    expect(() => fromNumbers("int8", [3], [1, 2])).toThrow("2 values for shape [3]");
  });

  it("should broadcast along axes of size 1 and new leading ones", () => {
    expect(values(broadcastTo(reshape(arange(0, 2), [2, 1]), [2, 3]))).toEqual([0, 0, 0, 1, 1, 1]);
    expect(values(broadcastTo(arange(0, 2), [2, 2]))).toEqual([0, 1, 0, 1]);
    expect(values(broadcastTo(iota(2, 1, 2), [2, 2, 2]))).toEqual([0, 1, 0, 1, 2, 3, 2, 3]);
    expect(values(broadcastTo(full([], 5, "uint64"), [2]))).toEqual([5n, 5n]);
    // Of no rows, or of rows without an element, there is nothing to repeat.
    expect(values(broadcastTo(arange(0, 2), [0, 2]))).toEqual([]);
    expect(values(broadcastTo(reshape(arange(0, 2), [2, 1]), [2, 0]))).toEqual([]);
    expect(() => broadcastTo(arange(0, 2), [3])).toThrow("shapes [2] and [3] do not broadcast");
    expect(() => broadcastTo(arange(0, 2), [1])).toThrow("[2] does not broadcast to [1]");
  });

  it("should permute, flip, slice and stack", () => {
    expect(values(permute(iota(2, 3), [1, 0]))).toEqual([0, 3, 1, 4, 2, 5]);
    const x = permute(iota(2, 3, 4), [2, 0, 1]);
    expect(x.shape).toEqual([4, 2, 3]);
    expect(x.data[1 * 6 + 1 * 3 + 2]).toBe(1 * 12 + 2 * 4 + 1);
    expect(values(flip(iota(2, 3), 1))).toEqual([2, 1, 0, 5, 4, 3]);
    expect(values(slice(iota(2, 3), 1, 2))).toEqual([2, 5]);
    expect(values(stack([arange(0, 2), arange(2, 4)], 1))).toEqual([0, 2, 1, 3]);
    expect(expandDims(iota(2, 3), -1).shape).toEqual([2, 3, 1]);
    expect(expandDims(iota(2, 3), 1).shape).toEqual([2, 1, 3]);
    expect(() => reshape(iota(2, 3), [4])).toThrow("[2, 3] does not reshape to [4]");
  });

  it("should keep the bits of what it moves", () => {
    const bits = Uint32Array.of(0x7f800001, 0xffc12345);
    const x = tileArray("float32", [2], new Float32Array(bits.buffer));
    const y = flip(x, 0).data;
    expect(new Uint32Array(y.buffer)).toEqual(Uint32Array.of(0xffc12345, 0x7f800001));
    expect(values(flip(fromNumbers("int64", [2], [1n, -(2n ** 63n)]), 0))).toEqual([-(2n ** 63n), 1n]);
  });

  it("should move poison along", () => {
    const x = poisoned(iota(2, 3), 4);
    expect(poisonedLanes(permute(x, [1, 0]))).toEqual([3]);
    expect(poisonedLanes(broadcastTo(poisoned(reshape(arange(0, 2), [2, 1]), 1), [2, 2]))).toEqual([2, 3]);
    expect(poisonedLanes(stack([arange(0, 2), poisoned(arange(0, 2), 0)], 1))).toEqual([1]);
  });
});

describe("elementwise functions", () => {
  it("should broadcast operands, scalars too", () => {
    const [rows, columns] = [reshape(arange(0, 2), [2, 1]), reshape(arange(0, 3), [1, 3])];
    expect(map2(rows, columns, "int32", (x, y) => 10 * x + y)).toEqual({
      dtype: "int32",
      shape: [2, 3],
      data: Int32Array.of(0, 1, 2, 10, 11, 12),
    });
    expect(values(map2(full([], 10, "int32"), arange(0, 3), "int32", (x, y) => x - y))).toEqual([10, 9, 8]);
    expect(values(map2(arange(0, 3), full([1], 10, "int32"), "int32", (x, y) => x - y))).toEqual([-10, -9, -8]);
    expect(
      values(map3(full([], 2, "float32"), cast(columns, "float32"), rows, "float32", (x, y, z) => x * y + z)),
    ).toEqual([0, 2, 4, 1, 3, 5]);
    expect(map2(full([], 1, "int32"), full([], 2, "int32"), "int32", add).shape).toEqual([]);
    expect(map1(full([1, 1], 1, "int32"), "int32", (x) => -x).shape).toEqual([1, 1]);
  });

  it.each([
    ["float32", 2 ** 24, 1, 2 ** 24],
    ["float64", 2 ** 24, 1, 2 ** 24 + 1],
    ["float16", 2048, 1, 2048],
    ["float16", 65504, 65504, Infinity],
    ["bfloat16", 256, 1, 256],
    ["float8e5", 57344, 57344, 57344],
    ["int8", 127, 1, -128],
    ["uint8", 255, 1, 0],
    ["int16", 32767, 1, -32768],
    ["uint16", 65535, 1, 0],
    ["int32", 2 ** 31 - 1, 1, -(2 ** 31)],
    ["uint32", 2 ** 32 - 1, 1, 0],
    ["int1", 1, 1, 0],
  ] as const)("should round or wrap sums of %s", (dtype, x, y, sum) => {
    const operands = [full([3], x, dtype), full([3], y, dtype), full([3], 0, dtype)] as const;
    expect(values(map2(operands[0], operands[1], dtype, add))).toEqual([sum, sum, sum]);
    expect(values(map3(...operands, dtype, (a, b, c) => a + b + c))).toEqual([sum, sum, sum]);
  });

  it("should wrap products of 32-bit integers", () => {
    const x = full([1], 0xffffffff, "uint32");
    expect(values(map2(x, x, "uint32", multiply))).toEqual([1]);
  });

  it("should give int1 from comparisons", () => {
    const less = map2(fromNumbers("float32", [3], [1, NaN, 2]), full([], 2, "float32"), "int1", (x, y) => x < y);
    expect(less).toEqual({ dtype: "int1", shape: [3], data: Uint8Array.of(1, 0, 0) });
    expect(values(map1(less, "int1", (x) => !x))).toEqual([0, 1, 1]);
  });

  it("should keep 64-bit integers apart from numbers", () => {
    const x = fromNumbers("int64", [2], [2n ** 63n - 1n, -1n]);
    expect(values(mapBig2(x, full([], 1n, "int64"), "int64", (a, b) => a + b))).toEqual([-(2n ** 63n), 0n]);
    expect(values(mapBig2(x, full([], 0n, "int64"), "int1", (a, b) => a < b))).toEqual([0, 1]);
    expect(values(mapBig1(x, "float16", () => 2049))).toEqual([2048, 2048]);
    expect(values(mapBig3(x, x, x, "int64", (a, b, c) => a * b + c))).toEqual([-(2n ** 63n), 0n]);
    expect(() => map1(x, "int64", (a) => a)).toThrow("int64 elements are bigints");
    expect(() => mapBig1(arange(0, 1), "int64", (a) => a)).toThrow("int32 elements are numbers");
  });

  it("should poison lanes of which an operand is poison", () => {
    const [x, y] = [poisoned(iota(2, 2), 0), poisoned(full([], 1, "int32"))];
    expect(poisonedLanes(map2(x, y, "int32", add))).toEqual([0]);
    expect(poisonedLanes(map2(x, poisoned(arange(0, 2), 1), "int32", add))).toEqual([0, 1, 3]);
    expect(poisonedLanes(map2(x, poisoned(y, 0), "int32", add))).toEqual([0, 1, 2, 3]);
    expect(map2(arange(0, 2), arange(0, 2), "int32", add).poison).toBeUndefined();
  });

  it("should select lanes, of any dtype, and poison of the side taken only", () => {
    const condition = fromNumbers("int1", [4], [1, 1, 0, 0]);
    const x = poisoned(arange(0, 4), 0, 2);
    const y = poisoned(arange(10, 14), 1, 3);
    expect(values(select(condition, x, y))).toEqual([0, 1, 12, 13]);
    expect(poisonedLanes(select(condition, x, y))).toEqual([0, 3]);
    expect(poisonedLanes(select(poisoned(condition, 1), arange(0, 4), arange(0, 4)))).toEqual([1]);
    expect(values(select(condition, full([], 1n, "int64"), full([], 2n, "int64")))).toEqual([1n, 1n, 2n, 2n]);
  });
});

describe("casts", () => {
  it.each([
    ["float32", 1 + 2 ** -8, "bfloat16", 1],
    ["float32", 1e6, "float8e4nv", 448],
    ["float64", 1 + 2 ** -11 + 2 ** -40, "float16", 1 + 2 ** -10],
    ["float64", 2 ** 60, "int64", 2n ** 60n],
    ["float32", -1.5, "int32", -1],
    ["float16", -1.5, "uint64", 0n],
    ["float32", 0.5, "int1", 1],
    ["int1", 1, "int64", 1n],
    ["int1", 1, "float32", 1],
    ["int8", -1, "uint32", 2 ** 32 - 1],
    ["int8", -1, "uint64", 2n ** 64n - 1n],
    ["uint8", 255, "int64", 255n],
    ["int32", 300, "int8", 44],
    ["int32", 2 ** 24 + 1, "float32", 2 ** 24],
    ["int32", 2049, "float16", 2048],
    ["int64", -1n, "int8", -1],
    ["int64", 2n ** 32n + 5n, "uint32", 5],
    ["int64", -1n, "uint64", 2n ** 64n - 1n],
    ["int64", 2n ** 32n, "int1", 1],
    ["uint64", 2n ** 64n - 1n, "float32", 2 ** 64],
  ] as const)("should convert %s %s to %s", (from, value, to, expected) => {
    expect(values(cast(full([2], value, from), to))).toEqual([expected, expected]);
  });

  it("should round toward zero on demand", () => {
    const x = full([1], 1 + 2 ** -8 + 2 ** -9, "float32");
    expect(values(cast(x, "bfloat16", { rounding: "rtz" }))).toEqual([1]);
    expect(values(cast(full([1], 1e9, "float32"), "float8e5", { saturate: false }))).toEqual([Infinity]);
  });

  it("should keep the bits of a bitcast", () => {
    expect(values(cast(full([1], 1, "float32"), "int32", { bitcast: true }))).toEqual([0x3f800000]);
    expect(values(cast(full([1], -1, "int16"), "float16", { bitcast: true }))).toEqual([NaN]);
    expect(values(cast(full([1], -0, "float64"), "int64", { bitcast: true }))).toEqual([-(2n ** 63n)]);
    expect(values(cast(full([1], 0x7e, "uint8"), "float8e4nv", { bitcast: true }))).toEqual([448]);
    expect(() => cast(arange(0, 1), "float16", { bitcast: true })).toThrow(
      "cannot bitcast int32 (32 bits) to float16 (16 bits)",
    );
  });

  it("should keep poison", () => {
    expect(poisonedLanes(cast(poisoned(arange(0, 2), 1), "float16"))).toEqual([1]);
  });
});

describe("folds", () => {
  it("should reduce any axis, or all", () => {
    const x = iota(2, 3, 2);
    expect(reduce(x, 1, add)).toEqual({ dtype: "int32", shape: [2, 2], data: Int32Array.of(6, 9, 24, 27) });
    expect(values(reduce(x, 0, add))).toEqual([6, 8, 10, 12, 14, 16]);
    expect(values(reduce(x, 2, Math.max))).toEqual([1, 3, 5, 7, 9, 11]);
    expect(reduce(x, "all", add)).toEqual({ dtype: "int32", shape: [], data: Int32Array.of(66) });
    expect(values(reduceBig(cast(x, "int64"), "all", (a, b) => a + b))).toEqual([66n]);
    expect(values(reduce(fromNumbers("int1", [3], [0, 1, 0]), 0, (a, b) => a | b))).toEqual([1]);
  });

  it("should round at every step", () => {
    expect(values(reduce(fromNumbers("float16", [3], [2048, 1, 1]), 0, add))).toEqual([2048]);
    expect(values(reduce(fromNumbers("float32", [3], [2 ** 24, 1, 1]), 0, add))).toEqual([2 ** 24]);
    expect(values(reduce(fromNumbers("int8", [2], [127, 1]), 0, add))).toEqual([-128]);
    expect(values(reduce(fromNumbers("uint32", [2], [2 ** 32 - 1, 2]), 0, add))).toEqual([1]);
  });

  it("should scan either way", () => {
    expect(values(scan(iota(2, 3), 1, add))).toEqual([0, 1, 3, 3, 7, 12]);
    expect(values(scan(iota(2, 3), 1, add, { reverse: true }))).toEqual([3, 3, 2, 12, 9, 5]);
    expect(values(scan(iota(2, 3), 0, add))).toEqual([0, 1, 2, 3, 5, 7]);
    expect(values(scanBig(cast(arange(0, 3), "uint64"), 0, (a, b) => a + b, { reverse: true }))).toEqual([3n, 3n, 2n]);
  });

  it("should poison what a poisoned lane enters", () => {
    const x = poisoned(iota(2, 3), 1);
    expect(poisonedLanes(reduce(x, 1, add))).toEqual([0]);
    expect(poisonedLanes(scan(x, 1, add))).toEqual([1, 2]);
    expect(poisonedLanes(scan(x, 1, add, { reverse: true }))).toEqual([0, 1]);
  });
});

describe("dot", () => {
  const float = (shape: number[], ...xs: number[]) => fromNumbers("float32", shape, xs);

  it("should multiply matrices onto an accumulator", () => {
    const [a, b] = [float([2, 3], 1, 2, 3, 4, 5, 6), float([3, 2], 1, 0, 0, 1, 1, 1)];
    expect(dot(a, b, full([2, 2], 10, "float32"), { accDType: "float32" })).toEqual(float([2, 2], 14, 15, 20, 21));
    expect(values(dot(a, b, undefined, { accDType: "float32" }))).toEqual([4, 5, 10, 11]);
    expect(() => dot(a, a, undefined, { accDType: "float32" })).toThrow("dot: shapes [2, 3] and [2, 3] do not match");
  });

  it("should multiply batches", () => {
    const a = cast(iota(2, 2, 2), "float64");
    expect(dot(a, a, undefined, { accDType: "float64" })).toEqual({
      dtype: "float64",
      shape: [2, 2, 2],
      data: Float64Array.of(2, 3, 6, 11, 46, 55, 66, 79),
    });
  });

  it("should cut float32 operands off to tf32 unless told otherwise", () => {
    const [a, b] = [float([1, 1], 1 + 2 ** -10 + 2 ** -11), float([1, 1], 1)];
    const at = (inputPrecision?: "tf32" | "tf32x3" | "ieee" | "bf16x3" | "bf16x6") =>
      values(dot(a, b, undefined, { accDType: "float32", inputPrecision }));
    expect(at()).toEqual([1 + 2 ** -10]);
    expect(at("ieee")).toEqual([1 + 2 ** -10 + 2 ** -11]);
    expect(at("tf32x3")).toEqual([1 + 2 ** -10 + 2 ** -11]);
    expect(at("bf16x3")).toEqual([1 + 2 ** -10 + 2 ** -11]);
    expect(at("bf16x6")).toEqual([1 + 2 ** -10 + 2 ** -11]);
  });

  it("should be nearly exact with split operands", () => {
    const a = map1(cast(iota(8, 8), "float32"), "float32", Math.sin);
    const exact = dot(cast(a, "float64"), cast(a, "float64"), undefined, { accDType: "float64" });
    const worst = (inputPrecision: "tf32x3" | "bf16x3" | "bf16x6" | "ieee") => {
      const result = dot(a, a, undefined, { accDType: "float32", inputPrecision });
      return Math.max(...values(result).map((x, i) => Math.abs(Number(x) - Number(exact.data[i]))));
    };
    expect(worst("ieee")).toBeLessThan(1e-6);
    expect(worst("tf32x3")).toBeLessThan(3e-6);
    expect(worst("bf16x6")).toBeLessThan(3e-6);
    expect(worst("bf16x3")).toBeLessThan(2e-4);
  });

  it("should keep infinities through splitting", () => {
    const inf = float([1, 1], Infinity);
    for (const inputPrecision of ["tf32", "tf32x3", "bf16x6"] as const) {
      expect(values(dot(inf, float([1, 1], 1.5), undefined, { accDType: "float32", inputPrecision }))).toEqual([
        Infinity,
      ]);
    }
  });

  it("should accumulate in float32 step by step, in int32 wrapping, and round float16 at the end", () => {
    const ones = float([3, 1], 1, 1, 1);
    expect(values(dot(float([1, 3], 2 ** 24, 1, 1), ones, undefined, { accDType: "float32" }))).toEqual([2 ** 24]);
    const half = cast(ones, "float16");
    const acc = full([1, 1], 2046, "float16");
    expect(values(dot(cast(float([1, 3], 1, 1, 1), "float16"), half, acc, { accDType: "float16" }))).toEqual([2048]);
    const bytes = fromNumbers("int8", [1, 1], [-128]);
    expect(values(dot(bytes, bytes, full([1, 1], 2 ** 31 - 1, "int32"), { accDType: "int32" }))).toEqual([
      -(2 ** 31) + 16383,
    ]);
  });

  it("should poison rows and columns", () => {
    const [a, b] = [cast(iota(2, 2), "float16"), cast(iota(2, 2), "float16")];
    const options = { accDType: "float32" } as const;
    expect(poisonedLanes(dot(poisoned(a, 3), b, undefined, options))).toEqual([2, 3]);
    expect(poisonedLanes(dot(a, poisoned(b, 2), undefined, options))).toEqual([0, 2]);
    expect(poisonedLanes(dot(a, b, poisoned(full([2, 2], 0, "float32"), 1), options))).toEqual([1]);
    const batch = cast(iota(2, 2, 2), "float16");
    expect(poisonedLanes(dot(batch, poisoned(batch, 4), undefined, options))).toEqual([4, 6]);
  });
});

it.each([
  ["float32", Float32Array],
  ["float64", Float64Array],
] as const)(
  "a product of %s without zeros and repeated lines is that of every step, to the sign of zero",
  (dtype, Held) => {
    const element = fc.constantFrom(0, 0, 0, 0, -0, 1, -2, 0.1, 0.1 + 2 ** -50, 2 ** -100, -(2 ** -100), Infinity, NaN);
    const sizes = fc.record({
      m: fc.integer({ min: 1, max: 3 }),
      n: fc.integer({ min: 1, max: 4 }),
      k: fc.nat({ max: 9 }),
    });
    const times = fc.constantFrom(1, 1, 2, 2.5, 3);
    const matrices = fc.tuple(sizes, times, times, fc.boolean()).chain(([{ m, n, k }, down, across, isAlike]) => {
      // Rows and columns that come again, as those of indices that wrap do.
      const [rows, columns] = [Math.floor(m * down), Math.floor(n * across)];
      const of = (m: number, n: number, rows: number, columns: number) =>
        fc.array(element, { minLength: m * n, maxLength: m * n }).map((values) => {
          const data = new Held(rows * columns);
          for (let i = 0; i < data.length; i++)
            data[i] = values[(Math.floor(i / columns) % m) * n + ((i % columns) % n)]!;
          return tileArray(dtype, [rows, columns], data);
        });
      const acc = isAlike ? of(m, n, rows, columns) : of(rows, columns, rows, columns);
      return fc.tuple(of(m, k, rows, k), of(k, n, k, columns), acc);
    });
    fc.assert(
      fc.property(matrices, ([a, b, acc]) => {
        const got = dot(a, b, acc, { accDType: dtype, inputPrecision: "ieee" });
        const [[m, k], n] = [a.shape as [number, number], b.shape[1]!];
        const expected = (acc.data as Float64Array).slice();
        for (let row = 0; row < m; row++)
          for (let p = 0; p < k; p++)
            for (let j = 0; j < n; j++)
              expected[row * n + j]! += (a.data[row * k + p] as number) * (b.data[p * n + j] as number);
        expect([...(got.data as Float64Array)]).toEqual([...expected]);
      }),
      { numRuns: 3000 },
    );
  },
);
