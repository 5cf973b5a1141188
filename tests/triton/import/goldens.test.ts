/** Emitted kernels are imported and emitted again: the hardest test of both ways. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, constexpr, kernel, scalar, tensor, tl } from "tilescript";
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
  perRun: 6,
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

const scalars = kernel(
  "scalars",
  {
    doc: "Sums of scalars whose casts to their own dtypes the import leaves out.",
    params: {
      x: tensor(tl.int64, ["N"], { contiguous: true }),
      y: tensor.out(tl.float64, ["N"], { contiguous: true }),
      small: scalar(tl.int16),
      long: scalar(tl.int64),
      word: scalar(tl.uint64),
      factor: scalar(tl.float64),
      BLOCK: constexpr(),
    },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 32 },
    reference: ({ x, factor }) => x.to("float64").mul(factor),
  },
  ({ x, y, small, long, word, factor, BLOCK }) => {
    const index = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    const whole = long.mul(long).add(small.mul(small).to(tl.int64)).add(word.shr(1).to(tl.int64));
    tl.store(y.at(index), tl.load(x.at(index)).add(whole).to(tl.float64).mul(factor.mul(factor)));
  },
);

it("should leave out casts of scalars to their own dtypes", async () => {
  const built = await build(scalars);
  const { built: again, text, ...outcome } = await reimporter.reimported(built);
  expect(built.python).toContain("long = tl.full([], long, tl.uint64).to(tl.int64)");
  expect(isEqual(outcome), JSON.stringify(outcome)).toBe(true);
  expect(bodiesOf(again!.python)).toEqual(bodiesOf(built.python));
  expect(text).not.toContain("interpreter ignores");
});
