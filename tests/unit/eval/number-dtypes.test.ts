/** What is kept of a kernel is found again only for the same numbers, also for those that JSON does not tell apart. */
import { expect, test } from "vitest";
import { constexpr, kernel, tensor, tl } from "tilescript";
import { type CompiledKernel, type CachedProof } from "../../../src/compiled/compiled-kernel.js";
import { cacheKey } from "../../../src/compiled/canonical-json.js";
import { build } from "../../../src/pipeline/build.js";

const ALIKE = [0, -0, NaN, Infinity, -Infinity];

test("texts of data are equal only for equal numbers", () => {
  const others = [...ALIKE, null, "NaN", "-0"];
  expect(new Set(others.map((each) => cacheKey([each]))).size).toBe(others.length);
  expect(cacheKey({ a: [1, "b", true] })).toBe(JSON.stringify({ a: [1, "b", true] }));
});

const shifted = kernel(
  "shifted",
  {
    params: {
      x: tensor(tl.float32, ["N"]),
      y: tensor.out(tl.float32, ["N"]),
      SHIFT: constexpr.float({ default: 0 }),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 16 },
  },
  ({ x, y, SHIFT, BLOCK }) => {
    const i = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    // The first operand is the same for all programs, so that it is computed once.
    tl.store(
      y.at(i),
      tl
        .full([], SHIFT, tl.float32)
        .mul(1)
        .div(tl.load(x.at(i))),
    );
  },
);

test("a prepared kernel is that of its constexprs", async () => {
  const { evaluate } = await build(shifted);
  const x = { dtype: "float32", shape: [1], data: Float32Array.of(1) };
  const results = ALIKE.map((SHIFT) => {
    const at = { sizes: { N: 1 }, dtypes: {}, constexprs: { SHIFT }, config: 0, seed: 0 };
    return evaluate(at, { inputs: { x } }).outputs.y!.data[0];
  });
  expect(results.slice(2)).toEqual([NaN, Infinity, -Infinity]);
});

const summed = (other: number) =>
  kernel(
    "summed",
    {
      params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, [1]), BLOCK: constexpr() },
      grid: () => [1],
      config: { BLOCK: 16 },
      requires: ({ N, BLOCK }) => [N.le(BLOCK), N.gt(0)],
    },
    ({ x, y, BLOCK }) => {
      tl.store(y.at(0), tl.max(tl.load(x.at(tl.arange(0, BLOCK)), { other }), 0));
    },
  );

test("a kept proof is that of the kernel's numbers", async () => {
  const kept = new Map<string, CachedProof>();
  const cache = {
    read: (text: string) => kept.get(text),
    write: (text: string, of: CachedProof) => kept.set(text, of),
  };
  const verdicts = ({ proof }: CompiledKernel) => proof(cache as never).obligations.map(({ verdict }) => verdict.kind);
  const least = verdicts(await build(summed(-Infinity)));
  const greatest = verdicts(await build(summed(Infinity)));
  expect(new Set(least)).toEqual(new Set(["proved"]));
  expect(greatest).toContain("unknown");
});
