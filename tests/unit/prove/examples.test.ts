/** What is proved of the examples. */
import { expect, test } from "vitest";
import { build } from "../../../src/pipeline/build.js";
import { examples } from "../../support/examples.js";

let proved = 0;

test.each(examples)("nothing of $name is refuted", async ({ kernel }) => {
  const kinds = (await build(kernel)).proof().obligations.map(({ verdict }) => verdict.kind);
  proved += kinds.filter((kind) => kind === "proved").length;
  expect(kinds).not.toContain("refuted");
});

test("96 accesses of the examples and more are proved for all shapes and configs", () => {
  expect(proved).toBeGreaterThanOrEqual(96);
});
