/** What a type says is plain JavaScript where the build knows it, and a value of the program where the launch decides. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.float32]);
const anyT: any = T;

const over = (body: (x: any, z: any, row: any) => boolean) =>
  kernel(
    "compared",
    {
      params: { x: tensor(T, ["N"]), z: tensor(tl.int8, [64]), y: tensor.out(tl.int32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 64 },
    },
    ({ x, z, y, BLOCK }) => {
      const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      const [values, row] = [tl.load(x.at(i)), tl.load(z.at(tl.arange(0, 64)))];
      const isTaken = body(values, z, row);
      tl.store(
        y.at(i),
        values
          .to(tl.int32)
          .add(tl.sum(row, 0))
          .add(isTaken ? 1 : 0),
      );
    },
  );

const isHalf = (dtype: any): boolean => dtype === tl.float16;

const DTYPE = "and this dtype is T, which the launch decides; branch with tl.when(T.is(tl.float16), () => …)";
const DIMENSION =
  "and the dimension BLOCK has a value only when Triton compiles; write .eq(…) and branch with tl.when(…)";

describe("what the launch decides is not compared by JavaScript", () => {
  test.each([
    ["===", DTYPE, over((x) => x.dtype === tl.float16)],
    ["!==", DTYPE, over((x) => x.dtype !== x.dtype)],
    ["===", DTYPE, over((x) => isHalf(x.dtype))],
    [
      "===",
      DTYPE,
      over((x) => {
        const { dtype } = x;
        return dtype === T;
      }),
    ],
    ["includes", DTYPE, over((x) => [tl.float16, tl.bfloat16].includes(x.dtype))],
    ["get", DTYPE, over((x) => new Map([[tl.float16, true]]).get(x.dtype) ?? false)],
    ["===", DTYPE, over((x) => [tl.float16, tl.bfloat16].some((each) => each === x.dtype))],
    [
      "switch",
      DTYPE,
      over((x) => {
        switch (x.dtype) {
          case tl.float16:
            return true;
          default:
            return false;
        }
      }),
    ],
    ["===", DIMENSION, over((x) => x.shape[0] === 64)],
    ["===", DIMENSION, over((x) => x.shape.at(-1) === 64)],
    ["==", DIMENSION, over((x, _, row) => row.shape[0] == x.shape[0])],
    ["includes", DIMENSION, over((x) => x.shape.includes(64))],
    ["===", DIMENSION, over((x) => x.shape.every((each: unknown) => each === 64))],
    [
      "===",
      DIMENSION,
      over((x) => {
        const [length] = x.shape;
        return length === 64;
      }),
    ],
    [
      "===",
      "and the launch decides T.bits; write T.bits.eq(…) and branch with tl.when(…)",
      over(() => anyT.bits === 16),
    ],
  ])("%s: %s", async (how, why, made) => {
    await expect(build(made)).rejects.toThrow(`hidden-coercion: \`${how}\` compares objects, ${why}`);
  });
});

test("what the build knows may be compared", async () => {
  const known = over((x, z, row) => {
    const [length] = x.shape;
    const isNumber = typeof length === "number" && length === 64;
    return z.dtype === tl.int8 && row.shape[0] === 64 && row.dtype !== tl.int32 && x.shape.length === 1 && !isNumber;
  });
  expect((await build(known)).python).toContain("+ 1");
});
