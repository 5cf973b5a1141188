import { expect, it } from "vitest";
import { build, constexpr, kernel, tensor, tl } from "tilescript";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import { interpreter } from "../support/cli.js";

const copy = kernel(
  "copy",
  {
    params: { x: tensor(tl.float32, ["N"]), y: tensor.out(tl.float32, ["N"]), BLOCK: constexpr() },
    grid: ({ N, BLOCK }) => [tl.cdiv(N, BLOCK)],
    config: { BLOCK: 64 },
  },
  ({ x, y, BLOCK }) => {
    const offsets = tl.programId(0).mul(BLOCK).add(tl.arange(0, BLOCK));
    tl.store(y.at(offsets), tl.load(x.at(offsets)));
  },
);

const device = interpreter();

it("should run a kernel without a reference, and not call it passed", { timeout: 60_000 }, async () => {
  const outcome = await verifyCase(await build(copy), device(), { sizes: { N: 100 }, dtypes: {}, config: 0, seed: 0 });
  expect(outcome.status).toBe("unchecked");
  expect(outcome.unchecked).toEqual(["the outputs were not compared: the kernel has no reference"]);
});
