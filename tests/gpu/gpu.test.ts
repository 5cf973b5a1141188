/** The emitted kernels on a GPU, every config and the autotuned call. Skipped, and counted so, where there is none. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { build } from "tilescript";
import { examples } from "../support/examples.js";
import { newFolder, packaged, runTests } from "../cli/package/packaged.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { verifyCase } from "../../src/runtime/verify/runner.js";
import { verify } from "../../src/runtime/verify/plan-cases.js";
import { checkFault, faults } from "./faults.js";
import { maskDropped, right, wrongStride } from "../kernels/mutants/kernels.js";

const device = await openDevice({ device: "auto" });
const isGpu = device.kind === "cuda" || device.kind === "hip";
afterAll(() => closeDevice(device));

describe.skipIf(!isGpu)("on a GPU", { timeout: 600_000 }, () => {
  test.each(examples)("$name is right in every config", async ({ kernel }) => {
    const { outcomes, skipped: left } = await verify(await build(kernel), device, { selection: { seed: 0 } });
    expect(outcomes.filter(({ status }) => status !== "passed")).toEqual([]);
    expect(left.filter((reason) => !reason.includes("the kernel refuses it"))).toEqual([]);
  });

  test.each([
    [right, "passed"],
    [maskDropped, "failed"],
    [wrongStride, "failed"],
  ])("$0.name", async (kernel, status) => {
    const at = { sizes: { M: 50, N: 45, K: 45 }, dtypes: {}, config: 0, seed: 3 };
    expect((await verifyCase(await build(kernel), device, at)).status).toBe(status);
  });

  test.each([
    ["custom_op", []],
    ["triton_op where there can be one", ["--triton-op"]],
  ])("operators of PyTorch: %s", { timeout: 1_800_000 }, async (_, flags) => {
    const folder = await newFolder();
    try {
      const kernels = await Promise.all(examples.map(({ kernel }) => build(kernel)));
      const out = join(folder, "examples");
      expect((await packaged(out, kernels, ...flags)).code).toBe(0);
      const { all } = await runTests(out, { PYTHONPATH: out });
      expect(all).toMatch(new RegExp(`\nRan ${2 * kernels.length} tests in [^]*\n\nOK$`));
    } finally {
      await rm(folder, { recursive: true });
    }
  });
  test.each(faults)("$name costs its case and no other", (fault) => checkFault(fault, device));
});
