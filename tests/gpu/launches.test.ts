/** Launches that wrappers remember, on a GPU. Skipped, and counted so, where there is none. */
import { execa } from "execa";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { build } from "tilescript";
import { dropout } from "../../examples/dropout.js";
import { gemm } from "../../examples/gemm.js";
import { softmax } from "../../examples/softmax.js";
import { vectorAdd } from "../../examples/vector-add.js";
import { closeDevice, openDevice } from "../../src/runtime/devices/devices.js";
import { requirePython } from "../support/python.js";

const device = await openDevice({ device: "auto" });
const isGpu = device.kind === "cuda" || device.kind === "hip";
await closeDevice(device);

test.skipIf(!isGpu).each([
  ["a launch should take the binary that its arguments need", "launch_test.py"],
  ["a repeated call should do what the wrapper does", "repeated_test.py"],
])("%s", { timeout: 300_000 }, async (_, name) => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-launches-"));
  try {
    for (const kernel of [gemm, vectorAdd, softmax, dropout]) {
      const compiled = await build(kernel);
      await writeFile(join(folder, compiled.file), compiled.emit({ launch: "fast" }).python);
    }
    const script = join(folder, name);
    await copyFile(fileURLToPath(new URL(name, import.meta.url)), script);
    const ran = await execa(await requirePython(), [script], { cwd: folder, reject: false });
    expect(ran.stderr).toMatch(/\nOK( \(skipped=\d+\))?$/);
  } finally {
    await rm(folder, { recursive: true });
  }
});
