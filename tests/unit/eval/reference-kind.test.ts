/** A reference gives elements of the kind that the output holds: floats, integers or truth values. */
import { describe, expect, test } from "vitest";
import { build, constexpr, type DType, kernel, tensor, tl } from "tilescript";

/** `y = body(x)` beside a reference. Types say nothing of a reference's dtype. */
const copied = (from: DType<any>, to: DType<any>, reference: (x: any, torch: any) => any, body = (x: any) => x) =>
  kernel(
    "copied",
    {
      params: { x: tensor(from, ["N"]), y: tensor.out(to, ["N"]), BLOCK: constexpr() },
      grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
      config: { BLOCK: 16 },
      reference: ({ x }, torch) => reference(x, torch),
    },
    ({ x, y, BLOCK }) => {
      const at = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
      tl.store(y.at(at), body(tl.load(x.at(at))).to(to));
    },
  );

const evaluated = async (of: unknown) =>
  (await build(of)).evaluate({ sizes: { N: 20 }, dtypes: {}, config: 0, seed: 1 });

describe("a reference is refused that gives", () => {
  const positive = (x: any) => x.gt(0);
  test.each([
    ["fractions for integers", copied(tl.int32, tl.int32, (x) => x.div(2)), "integers (int32)", "floats"],
    ["a float cast for integers", copied(tl.int32, tl.int32, (x) => x.float()), "integers (int32)", "floats"],
    ["integers for floats", copied(tl.int32, tl.float16, (x) => x), "floats (float16)", "integers"],
    [
      "a view of integers for floats",
      copied(tl.int32, tl.float32, (x) => x.reshape([20])),
      "floats (float32)",
      "integers",
    ],
    ["truth for integers", copied(tl.int32, tl.int32, positive, positive), "integers (int32)", "truth values"],
    ["truth for floats", copied(tl.float32, tl.float32, positive, positive), "floats (float32)", "truth values"],
    [
      "integers for truth",
      copied(tl.int32, tl.int1, (x) => x.gt(0).int(), positive),
      "truth values (int1)",
      "integers",
    ],
  ])("%s", async (_, of, own, given) => {
    await expect(evaluated(of)).rejects.toThrow(`y holds ${own}, its reference gives ${given}; convert`);
  });
});

describe("a reference passes that gives", () => {
  test.each([
    ["wider floats", copied(tl.float16, tl.float16, (x) => x.float())],
    ["narrower floats, rounded as the kernel does", copied(tl.float16, tl.float32, (x) => x.half())],
    ["wider integers", copied(tl.int32, tl.int32, (x) => x.long())],
    [
      "what PyTorch promotes",
      copied(
        tl.int32,
        tl.int32,
        (x) => x.mul(3),
        (x) => x.mul(3),
      ),
    ],
    [
      "a list of truth values for them",
      copied(
        tl.int32,
        tl.int1,
        (x) => x.gt(0),
        (x) => x.gt(0),
      ),
    ],
    ["integers that are cast", copied(tl.int32, tl.float32, (x) => x.to(tl.float32))],
  ])("%s", async (_, of) => {
    const { comparison, findings } = await evaluated(of);
    expect([comparison?.correct, findings]).toEqual([true, []]);
  });
});
