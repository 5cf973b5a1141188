/** Every example computes on Triton's interpreter what the evaluator says, at sizes that are drawn. */
import { expect, test } from "vitest";
import { examples } from "../../support/examples.js";
import { exampleCases, NOT_EVALUATED } from "./example-cases.js";
import { interpreted } from "./python.js";

test("the examples agree", { timeout: 300_000 }, async () => {
  const all = await exampleCases(1, 20_261_121);
  const evaluated = examples.filter(({ name }) => !NOT_EVALUATED.includes(name));
  expect(new Set(all.map(({ example }) => example))).toEqual(new Set(evaluated.map(({ name }) => name)));
  // The interpreter has no libdevice.
  const cases = all.filter(({ module }) => !/^from triton\.language\.extra import libdevice$/m.test(module));
  expect(all.filter((each) => !cases.includes(each)).map(({ example }) => example)).toEqual(["asin"]);
  const { kernels, agree, failures } = await interpreted(cases);
  expect({ kernels, agree, failures }).toEqual({ kernels: cases.length, agree: cases.length, failures: [] });
});
