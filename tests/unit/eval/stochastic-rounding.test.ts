/** What a comparison within a tolerance can't see of stochastic rounding: that it is fair, and what it does to NaN. */
import { describe, expect, test } from "vitest";
import { build, type CompiledKernel } from "tilescript";
import { adamwStochastic } from "../../../examples/stochastic-rounding.js";

const N = 4096;

/** Parameters after a step that changes nothing but by weight decay: `value * (1 - lr * decay)`, rounded. */
function decayed(kernel: CompiledKernel, value: number, factor: number, seed: number): readonly number[] {
  const fill = (dtype: string, x: number) => ({ dtype, shape: [N], data: new Float32Array(N).fill(x) });
  const inputs = {
    p: fill("bfloat16", value),
    grad: fill("bfloat16", 0),
    expAvg: fill("float32", 0),
    expAvgSq: fill("float32", 1),
  };
  const scalars = {
    ...Object.fromEntries(kernel.signature.scalars.map(({ name, default: given }) => [name, given!])),
    lr: 1,
    weightDecay: 1 - factor,
    seed,
  };
  const at = { sizes: { N }, dtypes: {}, scalars, config: 0, seed: 0 };
  return [...(kernel.evaluate(at, { inputs }).outputs["p"]!.data as Float32Array)];
}

describe("stochastic rounding", () => {
  test("should round up as often as the exact value is near", async () => {
    const kernel = await build(adamwStochastic);
    // Between 1 - 2^-8 and 1, the neighbors in bfloat16.
    for (const share of [0.1, 0.5, 0.9]) {
      const rounded = decayed(kernel, 1, 1 - (1 - share) * 2 ** -8, 42);
      expect(new Set(rounded)).toEqual(new Set([1 - 2 ** -8, 1]));
      const up = rounded.filter((x) => x === 1).length / N;
      // Four standard deviations of a share of N.
      expect(Math.abs(up - share)).toBeLessThan(4 * Math.sqrt((share * (1 - share)) / N));
    }
  });

  test("should follow its seed", async () => {
    const kernel = await build(adamwStochastic);
    const [first, again, other] = [1, 1, 2].map((seed) => decayed(kernel, 1, 1 - 2 ** -9, seed));
    expect(again).toEqual(first);
    expect(other).not.toEqual(first);
  });

  test("should keep what is exact, infinities and NaN", async () => {
    const kernel = await build(adamwStochastic);
    for (const value of [0, 1.5, -2, Infinity, Number.NaN]) {
      expect(new Set(decayed(kernel, value, 1, 3))).toEqual(new Set([value]));
    }
  });
});
