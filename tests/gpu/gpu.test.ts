/** The emitted kernels on a GPU, every config and the autotuned call. Skipped, and counted so, where there is none. */
import { afterAll, describe, expect, test } from "vitest";
import { build } from "tilescript";
import { examples } from "../codegen/examples.js";
import { closeDevice, openDevice } from "../../src/runtime/devices.js";
import { verify, verifyCase } from "../../src/runtime/verify.js";
import { checkFault, faults } from "./faults.js";
import { maskDropped, right, wrongStride } from "../mutants/kernels.js";

const device = await openDevice({ device: "auto" });
const isGpu = device.kind === "cuda" || device.kind === "hip";
afterAll(() => closeDevice(device));

describe.skipIf(!isGpu)("on a GPU", { timeout: 600_000 }, () => {
  test.each(examples)("$name is right in every config", async ({ kernel }) => {
    const { outcomes, left } = await verify(await build(kernel), device, { selection: { seed: 0 } });
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

  test.each(faults)("$name costs its case and no other", (fault) => checkFault(fault, device));
});
