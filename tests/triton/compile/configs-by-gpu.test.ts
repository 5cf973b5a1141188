/** An emitted module chooses its configs by the GPU as the build says, and on Triton's interpreter the default ones. */
import { expect, test } from "vitest";
import { build } from "tilescript";
import { configsFor } from "../../../src/compiled/gpus.js";
import { targets } from "../../../src/runtime/system/gpu-targets.js";
import { copyByGpu } from "../../support/fixtures/copy-by-gpu.js";
import { runScript, requirePython } from "../../support/python.js";

test("should leave Triton's autotuner the configs of its GPU", { timeout: 120_000 }, async () => {
  const { python, signature, configs } = await build(copyByGpu);
  const blocks = (places: readonly number[]) => places.map((place) => configs[place]!.values["BLOCK"]);
  const gpus = targets.map(({ triton }) => triton);
  const script = new URL("configs_by_gpu.py", import.meta.url);
  const found = await runScript<Record<string, unknown>>(await requirePython(), script, [
    { text: python, jit: signature.jit, gpus },
  ]);
  expect(found).toEqual({
    interpreter: [128, 256],
    ran: 128,
    ...Object.fromEntries(targets.map(({ name, triton }) => [name, blocks(configsFor(configs, triton))])),
    // The last of the targets takes the default ones.
    "another's": [],
  });
});
