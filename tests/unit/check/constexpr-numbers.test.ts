/** Integers that Triton knows when it compiles, beside tiles whose dtype lacks them: Triton refuses to compile those. */
import { expect, test } from "vitest";
import { constexpr, kernel, NDArray, tensor, tl } from "tilescript";

const x = NDArray.of([1, 2, 3, 4], [4], tl.int8);
const REFUSED = "mul: 300 is out of range for int8";

/** `x * C`, where C is below 128 if `isGuarded`. */
const times = (C: unknown, config: object = {}, isGuarded = false): any =>
  kernel(
    "times",
    {
      params: { x: tensor(tl.int8, [4]), N: constexpr(), y: tensor.out(tl.int8, [4]), C },
      grid: () => [1],
      config: { N: 4, ...config },
    } as never,
    (({ x, y, N, C }: any) => {
      const i = tl.arange(0, N);
      const scaled = (): void => tl.store(y.at(i), tl.load(x.at(i)).mul(C));
      if (!isGuarded) return scaled();
      tl.when(C.lt(128), scaled).otherwise(() => tl.store(y.at(i), tl.load(x.at(i))));
    }) as never,
  );

const valuesOf = async (of: any, options: object = {}) => [...(await of.evaluate({ x }, options)).outputs.y.data];

test("a config's number and a default are refused when the kernel is built", async () => {
  await expect(valuesOf(times(constexpr(), { C: 300 }))).rejects.toThrow(REFUSED);
  const said = `${REFUSED} where C is 300; cast the tile to a wider dtype first`;
  await expect(valuesOf(times(constexpr.int({ default: 300 })))).rejects.toThrow(said);
  expect(await valuesOf(times(constexpr.int({ default: 3 })))).toEqual([3, 6, 9, 12]);
});

test("a caller's number and one that is computed at the launch are refused before anything runs", async () => {
  const given = times(constexpr.int({ default: 3 }));
  await expect(valuesOf(given, { C: 300 })).rejects.toThrow(REFUSED);
  expect(await valuesOf(given, { C: -3 })).toEqual([-3, -6, -9, -12]);
  await expect(valuesOf(times(constexpr.launch(() => tl.cdiv(600, 2))))).rejects.toThrow(REFUSED);
});

test("what is not compiled for a number is not asked", async () => {
  expect(await valuesOf(times(constexpr.int({ default: 300 }), {}, true))).toEqual([1, 2, 3, 4]);
  expect(await valuesOf(times(constexpr.int({ default: 3 }), {}, true), { C: 300 })).toEqual([1, 2, 3, 4]);
});

test("a mask is compared as int32", async () => {
  const compared = (to: number) =>
    kernel(
      "compared",
      { params: { x: tensor(tl.int8, [4]), y: tensor.out(tl.int1, [4]) }, grid: () => [1] },
      ({ x, y }) => {
        const i = tl.arange(0, 4);
        tl.store(y.at(i), tl.load(x.at(i)).gt(2).lt(to));
      },
    );
  expect(await valuesOf(compared(1))).toEqual([1, 1, 0, 0]);
  expect(await valuesOf(compared(2 ** 31 - 1))).toEqual([1, 1, 1, 1]);
  await expect(valuesOf(compared(2 ** 31))).rejects.toThrow("lt: 2147483648 is out of range for int32");
});
