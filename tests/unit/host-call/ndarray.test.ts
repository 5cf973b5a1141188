/** Arrays on the host: what they hold, and what views of them see. */
import { describe, expect, test } from "vitest";
import { NDArray, tl } from "tilescript";
import { fc } from "../../support/property.js";

const counted = (...shape: number[]) =>
  NDArray.of(
    Array.from({ length: shape.reduce((size, dim) => size * dim, 1) }, (_, i) => i),
    shape,
    tl.int32,
  );

describe("making", () => {
  test("should take a typed array's own dtype", () => {
    expect(NDArray.of(Float64Array.of(1, 2)).dtype).toBe("float64");
    expect(NDArray.of(BigInt64Array.of(-(2n ** 63n))).toArray()).toEqual([-(2n ** 63n)]);
    expect(NDArray.of([1, 2, 3]).data).toEqual(Float32Array.of(1, 2, 3));
  });

  test("should round floats to nearest even and keep integers", () => {
    expect(NDArray.of([2049, 2051, 0.1], [3], tl.float16).data).toEqual(Float32Array.of(2048, 2052, 0.0999755859375));
    expect(NDArray.of([257], [1], tl.bfloat16).data).toEqual(Float32Array.of(256));
    expect(NDArray.of([-128, 127], [2], tl.int8).data).toEqual(Int8Array.of(-128, 127));
    expect(NDArray.of([true, false], [2], tl.int1).data).toEqual(Uint8Array.of(1, 0));
    expect(NDArray.of([3], [1], tl.uint64).data).toEqual(BigUint64Array.of(3n));
  });

  test("should copy, so that nothing changes it", () => {
    const values = Float32Array.of(1);
    const array = NDArray.of(values);
    values[0] = 2;
    expect(array.toArray()).toEqual([1]);
  });

  test("should draw the same numbers for the same seed", () => {
    const draw = (seed: number) => NDArray.randn([64, 64], tl.float32, seed).data;
    expect(draw(3)).toEqual(draw(3));
    expect(draw(3)).not.toEqual(draw(4));
    const mean = draw(3).reduce((sum, x) => sum + x, 0) / 4096;
    expect(Math.abs(mean)).toBeLessThan(0.1);
    const integers = new Set(NDArray.randint(-1, 2, [200], tl.int8, 1).data);
    expect([...integers].sort((a, b) => a - b)).toEqual([-1, 0, 1]);
  });

  test.each([
    [() => NDArray.of([1, 2, 3], [2, 2]), "shape [2, 2] has 4 elements, got 3 values"],
    [() => NDArray.of([300], [1], tl.int8), "300 is not a value of int8; give a dtype that holds it"],
    [() => NDArray.of([1.5], [1], tl.int64), "1.5 is not a value of int64"],
    [() => NDArray.of([2n ** 64n], [1], tl.uint64), "18446744073709551616 is not a value of uint64"],
    [() => NDArray.zeros([2.5]), "[2.5] is not a shape"],
    [() => NDArray.of([], [-1]), "[-1] is not a shape"],
    [() => NDArray.of([1], [1], "float16" as never), '"float16" is not a dtype; give one such as tl.float16'],
    [() => NDArray.randn([1], tl.int32), "randn: int32 is not a float dtype; use NDArray.randint"],
    [() => NDArray.zeros([1], tl.dtype("T", [tl.float16, tl.float32]) as never), "T is a dtype variable; name one of"],
    [() => NDArray.zeros([1], "float32" as never), "give one such as tl.float16"],
    [() => counted(2, 3).transpose(0, 2), "there is no axis 2; the array has shape [2, 3]"],
    [() => counted(2).t(), "the array has 1 axes, not 2"],
    [() => counted(2).slice(0, 0, 2, 0), "step is 0"],
  ] as const)("should refuse %s", (make, message) => {
    expect(make).toThrow(message);
    expect(make).toThrow("ndarray.test.ts");
  });
});

describe("views", () => {
  test("should transpose and slice as numpy does", () => {
    const x = counted(2, 3);
    expect(x.toArray()).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(x.t().toArray()).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(x.slice(1, 0, undefined, 2).toArray()).toEqual([
      [0, 2],
      [3, 5],
    ]);
    expect(x.slice(-1, -2).t().slice(0, 1).data).toEqual(Int32Array.of(2, 5));
    expect(x.slice(0, 5).shape).toEqual([0, 3]);
    expect([x.t().strides, x.t().isContiguous, x.slice(0, 1).isContiguous]).toEqual([[1, 3], false, true]);
    expect(NDArray.of([7], []).toArray()).toBe(7);
  });

  test("should agree with indexing, whatever views of views are taken", () => {
    const step = fc.record({
      swap: fc.boolean(),
      axis: fc.nat({ max: 2 }),
      start: fc.integer({ min: -5, max: 5 }),
      end: fc.integer({ min: -5, max: 5 }),
      every: fc.integer({ min: 1, max: 3 }),
    });
    const seed = 20_250;
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4 }), (steps) => {
        let view = counted(4, 5, 3);
        let places = (index: readonly number[]) => index[0]! * 15 + index[1]! * 3 + index[2]!;
        for (const { swap, axis, start, end, every } of steps) {
          const before = places;
          if (swap) {
            view = view.transpose(axis, 0);
            places = (index) => before(index.with(axis, index[0]!).with(0, index[axis]!));
          } else {
            const all = Array.from({ length: view.shape[axis]! }, (_, i) => i);
            const kept = all.slice(start, end).filter((_, i) => i % every === 0);
            view = view.slice(axis, start, end, every);
            expect(view.shape[axis]).toBe(kept.length);
            places = (index) => before(index.with(axis, kept[index[axis]!]!));
          }
        }
        const [a, b, c] = view.shape as [number, number, number];
        const range = (n: number) => Array.from({ length: n }, (_, i) => i);
        const due = range(a).map((i) => range(b).map((j) => range(c).map((k) => places([i, j, k]))));
        expect(view.toArray()).toEqual(due);
        expect([...view.data]).toEqual(due.flat(2));
      }),
      { seed, numRuns: 300 },
    );
  });
});
