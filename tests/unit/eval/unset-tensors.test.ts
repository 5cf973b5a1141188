/** Tensors that `torch.empty` makes for the kernels of an operator: what no kernel writes is found. */
import { expect, test } from "vitest";
import { build, constexpr, kernel, op, tensor, tl } from "tilescript";

const x = tensor(tl.float32, ["N"]);
const y = tensor.out(tl.float32, ["N"]);

/** Copies the blocks of x from START on. */
const copyFrom = (start: number) =>
  kernel(
    "copy_blocks",
    {
      params: { x, y: tensor.inout(tl.float32, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
    },
    ({ x, y, BLOCK }) => {
      const places = tl.programId(0).add(start).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(places), tl.load(x.at(places)));
    },
  );

const [all, allButOne] = [copyFrom(0), copyFrom(1)];

const copy = (blocks: typeof all, dtype: typeof tl.float32 | typeof tl.int32 = tl.float32) =>
  op("copy", { params: { x, y }, reference: ({ x }) => x, shapes: [{ N: 40 }] }, ({ x, N }, torch) => {
    const made = torch.empty([N], { dtype });
    const whole = made.to(tl.float32);
    blocks.call({ x, y: whole });
    return { y: whole };
  });

const at = { sizes: { N: 40 }, dtypes: {}, config: 0, seed: 1 };

test("a tensor that kernels write whole is right", async () => {
  const { findings, comparison } = (await build(copy(all))).evaluate(at);
  expect([findings, comparison?.correct]).toEqual([[], true]);
});

test.each([tl.float32, tl.int32] as const)("what no kernel writes is wrong, as %s", async (dtype) => {
  const { comparison } = (await build(copy(allButOne, dtype))).evaluate(at);
  expect(comparison).toMatchObject({ correct: false, wrong: 16, worst: { output: "y", index: [0] } });
});
