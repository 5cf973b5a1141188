/** Faults of compilers and GPUs that only a run on a GPU shows. Skipped, and counted so, where there is none. */
import { execa } from "execa";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { requirePython } from "../support/python.js";

const device = await openDevice({ device: "auto" });
const isGpu = device.kind === "cuda" || device.kind === "hip";
await closeDevice(device);

test.skipIf(!isGpu)("a GPU should show each known fault", { timeout: 300_000 }, async () => {
  const script = fileURLToPath(new URL("fault_test.py", import.meta.url));
  const ran = await execa(await requirePython(), [script], { reject: false });
  expect(ran.stderr).toMatch(/\nOK( \(skipped=\d+\))?$/);
});
