/** What is proved of the examples. */
import { expect, test } from "vitest";
import { build } from "../../../src/pipeline/build.js";
import { examples } from "../../support/examples.js";

let accesses = 0;

test.each(examples)("every access of $name is proved for all shapes and configs", async ({ kernel }) => {
  const { obligations } = (await build(kernel)).proof();
  accesses += obligations.length;
  expect(obligations.filter(({ verdict }) => verdict.kind !== "proved")).toEqual([]);
});

test("the examples have 96 accesses", () => {
  expect(accesses).toBe(96);
});
