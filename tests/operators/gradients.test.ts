/** Gradients on Triton's interpreter: compared with PyTorch's, and their kernels' memory guarded as that of any. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { layerNorm } from "../../examples/layer-norm.js";
import { verifyCase } from "../../src/runtime/runner.js";
import { interpreter } from "../runtime/helpers.js";

const device = interpreter();
const at = { sizes: { M: 1, N: 5 }, dtypes: { T: "float32" }, config: 0, seed: 0 };

test("a right one passes", { timeout: 60_000 }, async () => {
  const { status, comparisons } = await verifyCase(await build(layerNorm), device(), at);
  expect({ status, outputs: comparisons.map(({ worst }) => worst?.output) }).toEqual({
    status: "passed",
    outputs: expect.arrayContaining(["x.grad", "weight.grad", "bias.grad"]),
  });
});

test("one that writes an element too many fails, though every number is right", { timeout: 60_000 }, async () => {
  const right = await build(layerNorm);
  const store = "result.to(dx_ptr.dtype.element_ty),\n            mask=mask";
  expect(right.python).toContain(store);
  const wrong = { ...right, python: right.python.replace(store, store.replace("=mask", "=cols < N + 1")) };
  const { status, problems, comparisons } = await verifyCase(wrong, device(), at);
  expect(comparisons.every(({ wrong }) => wrong === 0)).toBe(true);
  expect({ status, problems }).toEqual({
    status: "failed",
    problems: ["the kernel wrote outside a tensor that its wrapper allocated"],
  });
});
