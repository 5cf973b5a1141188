/** Common operations are shown to compute their references for all sizes. */
import { expect, test } from "vitest";
import { build } from "../../../../src/pipeline/build.js";
import { commonKernels } from "./common-kernels.js";

/** What is not shown, with what is missing. */
const OPEN: Readonly<Record<string, string>> = {
  hard_tanh: "tl.clamp has no rule",
  cumulative_sum: "torch.cumsum has no rule",
  argmax_of_rows: "torch.argmax has no rule",
};

test.each(commonKernels.map((kernel) => [kernel.name, kernel] as const))("%s", async (name, kernel) => {
  const { computes } = await build(kernel);
  const missing = OPEN[name];
  const verdict = missing === undefined ? { kind: "proved" } : { kind: "unknown", missing };
  expect(computes().map((each) => each.verdict)).toEqual([expect.objectContaining(verdict)]);
});
