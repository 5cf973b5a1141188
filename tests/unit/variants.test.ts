/** The variants that `npm run bench -- gallery --variants` times: each can be built, and is another module. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { atomicGradients } from "../../bench/atomic-gradients.js";
import { buildVariant, applyVariant, variants } from "../../bench/variants.js";
import { examples } from "../support/examples.js";

const exampleOf = (name: string) => examples.find((each) => each.name === name)!;

test.each([...variants, atomicGradients])("$name of $example is another module than the example", async (variant) => {
  const { python } = await buildVariant(variant, exampleOf(variant.example));
  const golden = readFileSync(`tests/unit/codegen/golden/${variant.example}.py`, "utf8");
  expect(python).not.toBe(golden);
});

test("a variant names what its example says once", () => {
  const variant = { part: "p", example: "e", name: "v", because: "", changes: [["a", "b"]] } as const;
  expect(applyVariant("xay", variant)).toBe("xby");
  expect(() => applyVariant("xx", variant)).toThrow("v of e: a is there 0 times");
  expect(() => applyVariant("aa", variant)).toThrow("v of e: a is there 2 times");
});

test("parts of variants run their examples", () => {
  const cases = ["cases", "models", "products"]
    .map((name) => readFileSync(`bench/gallery_${name}.py`, "utf8"))
    .join("\n");
  for (const { part, example } of variants) {
    expect(cases).toContain(`"${part}": ${part}`);
    expect(cases).toContain(`module(folder, "${exampleOf(example).kernel.name}")`);
  }
});
