/** Every example computes on Triton's interpreter what the evaluator says, at sizes that are drawn. */
import { expect, test } from "vitest";
import { examples } from "../../support/examples.js";
import { exampleCases } from "./example-cases.js";
import { interpreted } from "./python.js";

test("the examples agree", { timeout: 300_000 }, async () => {
  const cases = await exampleCases(1, 20_261_121);
  expect(new Set(cases.map(({ example }) => example))).toEqual(new Set(examples.map(({ name }) => name)));
  const { kernels, agree, failures } = await interpreted(cases);
  expect({ kernels, agree, failures }).toEqual({ kernels: cases.length, agree: cases.length, failures: [] });
});
