/** An int32 of fewer bits wraps where its width says, and everything that int32 limits is smaller in proportion. */
import { expect, test } from "vitest";
import { kernel, scalar, tensor, tl } from "../../../src/index.js";
import { definitionOf } from "../../../src/dsl/definition.js";
import { trace } from "../../../src/dsl/trace.js";
import { LIMITS, limitsOf } from "../../../src/types/limits.js";
import { SmallKernel } from "../../kernels/small-world/small-kernel.js";

test("at 32 bits the limits are those of int32, Triton and CUDA", () => {
  expect(LIMITS).toMatchObject({
    int32End: 2 ** 31,
    maxNumel: 1_048_576,
    int32Reach: 2 ** 31 - 1_048_576,
    maxGrid: [2 ** 31 - 1, 65_535, 65_535],
    maxOutput: 2 ** 40,
  });
  expect(LIMITS.scaled(16)).toBe(16);
});

test.each([8, 10, 12])("at %i bits no limit exceeds the next larger one", (bits) => {
  const { int32End, maxNumel, int32Reach, maxGrid, maxOutput } = limitsOf(bits);
  const [x, y, z] = maxGrid;
  expect([x, y, z]).toEqual([int32End - 1, z, z]);
  const ascending = [1, maxNumel, int32Reach, int32End, maxOutput];
  expect(ascending).toEqual(ascending.toSorted((a, b) => a - b));
  expect(y).toBeLessThan(x);
});

const to8Bits = (x: number): number => Number(BigInt.asIntN(8, BigInt(x)));

/** What an 8-bit int32 holds of each result is its low bits. */
const exact = {
  add: (x: number, y: number) => x + y,
  sub: (x: number, y: number) => x - y,
  mul: (x: number, y: number) => x * y,
  shl: (x: number) => x * 8,
  cdiv: (x: number, y: number) => Math.trunc(to8Bits(x + y - 1) / y),
  abs: Math.abs,
  neg: (x: number) => -x,
  sum: (x: number) => 4 * x,
};

/** The results of ops on two scalars where an int32 has 8 bits. */
const ops: Readonly<Record<keyof typeof exact, (x: any, y: any) => any>> = {
  add: (x, y) => x.add(y),
  sub: (x, y) => x.sub(y),
  mul: (x, y) => x.mul(y),
  shl: (x) => x.shl(3),
  cdiv: (x, y) => x.cdiv(y),
  abs: (x) => tl.abs(x),
  neg: (x) => x.neg(),
  sum: (x) => tl.sum(x.broadcastTo([4]), 0),
};

test.each(Object.keys(ops) as (keyof typeof ops)[])("%s wraps at 8 bits", (name) => {
  const definition = kernel(
    name,
    {
      params: { x: scalar(tl.int32), y: scalar(tl.int32), out: tensor.out(tl.int32, [1]) },
      grid: () => [1],
    },
    ({ x, y, out }) => void tl.store(out.at(0), ops[name](x, y)),
  );
  const small = new SmallKernel(name, { ...trace(definitionOf(definition)), limits: limitsOf(8) });
  const numbers = [-128, -127, -100, -3, 5, 64, 100, 127];
  for (const x of numbers)
    for (const y of [1, 3, 64, 127]) {
      const { outputs } = small.evaluate({ sizes: {}, scalars: { x, y }, dtypes: {}, config: 0, seed: 0 });
      expect([name, x, y, Number(outputs["out"]?.data[0])]).toEqual([name, x, y, to8Bits(exact[name](x, y))]);
    }
});

test("a scalar that 8 bits do not hold is refused", () => {
  const definition = kernel(
    "scalar",
    { params: { x: scalar(tl.int32), out: tensor.out(tl.int32, [1]) }, grid: () => [1] },
    ({ x, out }) => void tl.store(out.at(0), x),
  );
  const small = new SmallKernel("scalar", { ...trace(definitionOf(definition)), limits: limitsOf(8) });
  const refusalOf = (x: number) => small.refusal({ sizes: {}, scalars: { x }, dtypes: {}, config: 0, seed: 0 });
  expect([127, 128, -128, -129].map((x) => refusalOf(x) === undefined)).toEqual([true, false, true, false]);
});
