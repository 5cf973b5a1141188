/** Emitted kernels are imported and emitted again: the hardest test of both ways. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { build } from "tilescript";
import { isEqual } from "../../../src/runtime/import-check/imported-kernel.js";
import { sampleCases } from "../../support/sampled-tests.js";
import { examples, sourcesOf } from "../../support/examples.js";
import { requirePython } from "../../support/python.js";
import { bodiesOf, openReimporter, type Reimporter } from "./reimport.js";

let reimporter: Reimporter;

beforeAll(async () => {
  reimporter = await openReimporter(await requirePython());
});
afterAll(() => reimporter.stop());

/** Functions whose text is another one the second time, and why. */
const apart: Readonly<Record<string, string>> = {
  dependent_add_kernel: "an argument that equals its default is left out",
  streamed_products_kernel: "of two numbers that tl.where chooses from, one is written with its dtype",
  sum_of_pieces_kernel: "the same",
};

const chosen = sampleCases("examples that are imported", examples, {
  key: ({ name }) => name,
  sources: ({ name }) => sourcesOf(name),
  minimum: 3,
  perRun: 15,
});

it.each(chosen)("should import $name and emit the same IR and text", async ({ kernel }) => {
  const built = await build(kernel);
  for (const part of built.parts ?? [built]) {
    const { built: again, text: _, ...outcome } = await reimporter.reimported(part);
    // A dtype that a caller chooses is fixed where one text does not serve several.
    expect(isEqual(outcome), JSON.stringify(outcome)).toBe(true);
    const [before, after] = [bodiesOf(part.python), bodiesOf(again!.python)];
    expect(Object.keys(after)).toEqual(Object.keys(before));
    for (const [name, body] of Object.entries(before))
      if (name in apart) expect(after[name], `${name}: remove it from the list`).not.toBe(body);
      else expect(after[name]).toBe(body);
  }
});
