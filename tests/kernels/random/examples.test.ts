/** Every example computes on Triton's interpreter what the evaluator says, at sizes that are drawn. */
import { expect, test } from "vitest";
import { sampleCases } from "../../support/sampled-tests.js";
import { sourcesOf } from "../../support/examples.js";
import { evaluatedExamples, exampleCases } from "./example-cases.js";
import { interpreted } from "./python.js";

test("the examples agree", { timeout: 300_000 }, async () => {
  const chosen = sampleCases("examples on Triton's interpreter", evaluatedExamples, {
    key: ({ name }) => name,
    sources: ({ name }) => sourcesOf(name),
    minimum: 4,
    perRun: 14,
  });
  const all = await exampleCases(1, 20_261_121, chosen);
  expect(new Set(all.map(({ example }) => example))).toEqual(new Set(chosen.map(({ name }) => name)));
  // The interpreter has no libdevice.
  const cases = all.filter(({ module }) => !/^from triton\.language\.extra import libdevice$/m.test(module));
  const { kernels, agree, failures } = await interpreted(cases);
  expect({ kernels, agree, failures }).toEqual({ kernels: cases.length, agree: cases.length, failures: [] });
});
