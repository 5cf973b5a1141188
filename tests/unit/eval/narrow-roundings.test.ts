/** What counts as a rounding that nobody declared. */
import { describe, expect, test } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";

const T = tl.dtype("T", [tl.float16, tl.bfloat16, tl.float32]);

/** Rounds in the arm of a flag, and in the arm of a dtype. */
const inArms = kernel(
  "in_arms",
  {
    params: {
      x: tensor(T, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      FAST: constexpr.bool({ default: false }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ x }) => x.mul(3),
  },
  ({ x, y, FAST, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const v = tl.mut(tl.load(x.at(i)).to(tl.float32));
    tl.when(FAST, () => {
      v.value = v.value.to(tl.bfloat16).to(tl.float32);
    });
    tl.when(T.is(tl.bfloat16), () => {
      v.value = v.value.to(tl.float16).to(tl.float32);
    });
    tl.store(y.at(i), v.value.mul(3));
  },
);

async function dtypesRounded(made: unknown, changes: { T?: string; FAST?: boolean; atol?: number } = {}) {
  const { T: dtype = "float32", FAST = false, atol } = changes;
  const at = { sizes: { N: 40 }, dtypes: { T: dtype }, constexprs: { FAST }, config: 0, seed: 1 };
  const findings = (await build(made)).narrowRoundings(at, atol === undefined ? {} : { atol });
  return findings.map(({ message }) => /tl\.(\w*float\w+)/.exec(message)?.[1]);
}

describe("an undeclared rounding", () => {
  test("should count only in the arms that a case takes", async () => {
    expect(await dtypesRounded(inArms)).toEqual([]);
    expect(await dtypesRounded(inArms, { FAST: true })).toEqual(["bfloat16"]);
    expect(await dtypesRounded(inArms, { T: "bfloat16" })).toEqual(["float16"]);
  });

  test("should be no rounding to a dtype of an input in that case", async () => {
    expect(await dtypesRounded(inArms, { FAST: true, T: "bfloat16" })).toEqual(["float16"]);
    expect(await dtypesRounded(inArms, { FAST: true, T: "float16" })).toEqual(["bfloat16"]);
  });

  test("should be declared by a tolerance of the caller", async () => {
    expect(await dtypesRounded(inArms, { FAST: true, atol: 0.1 })).toEqual([]);
  });

  test("should be no cast that keeps every number, and no running maximum", async () => {
    const exact = kernel(
      "exact",
      {
        params: { x: tensor(tl.int8, ["M", "N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
        reference: ({ x }) => x.amax(0).to(tl.float32),
      },
      ({ x, y, M, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        const most = tl.mut(tl.full([BLOCK], -128, tl.float16));
        for (const row of tl.range(0, M)) {
          most.value = tl.maximum(most.value, tl.load(x.at(row, i)).to(tl.float16));
        }
        tl.store(y.at(i), most.value.to(tl.float32));
      },
    );
    expect(await dtypesRounded(exact)).toEqual([]);
  });

  test("should not be asked of a kernel without a reference", async () => {
    const unreferenced = kernel(
      "unreferenced",
      {
        params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
        grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
        config: { BLOCK: 32 },
      },
      ({ x, y, BLOCK }) => {
        const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
        tl.store(y.at(i), tl.load(x.at(i)).to(tl.bfloat16).to(tl.float32));
      },
    );
    expect(await dtypesRounded(unreferenced)).toEqual([]);
  });
});
