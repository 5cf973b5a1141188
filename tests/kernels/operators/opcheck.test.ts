/** Operators as PyTorch has them. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { layerNorm } from "../../../examples/layer-norm.js";
import { rmsNorm } from "../../../examples/rms-norm.js";
import { sampledCostlyTests } from "../../support/sampled-tests.js";
import { testModules } from "../../support/python.js";
import { affine, doubled, rectified, scale } from "./kernels.js";

sampledCostlyTests("operators on PyTorch", "src/codegen/operator");

test("opcheck, torch.compile and gradients in float64", { timeout: 300_000 }, async () => {
  const built = {
    scale: await build(scale),
    affine: await build(affine),
    doubled: await build(doubled),
    rectified: await build(rectified),
    layer_norm: await build(layerNorm),
    rms_norm: await build(rmsNorm),
  };
  expect(await testModules(new URL("operators.py", import.meta.url), built)).toMatch(/\nOK\n?$/);
});
