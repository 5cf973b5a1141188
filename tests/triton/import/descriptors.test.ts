/** Kernels that take tensor descriptors, with the launches of a script. */
import { fileURLToPath } from "node:url";
import { beforeAll, expect, it } from "vitest";
import type { ReadKernel } from "../../../src/runtime/worker/protocol.js";
import type { ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { DEADLINE_MS, useImporter } from "./importer.js";

const file = fileURLToPath(new URL("descriptors.py", import.meta.url));

const importer = useImporter();
let kernels: readonly ReadKernel[];
beforeAll(async () => {
  const launched = await importer.readLaunched(file);
  expect(launched.stopped).toBeUndefined();
  ({ kernels } = launched);
}, DEADLINE_MS);

const imported = (name: string): Promise<ImportedKernel> =>
  importer.imported(kernels.find((each) => each.name === name)!);

it("should name the constants that a hook sets blocks to, also where a config has them alike", async () => {
  const { status, text, leftOut } = await imported("tuned_transposition");
  expect(status).toBe("equal for the traced calls");
  // The hook is called for the blocks, so it is not left out itself.
  expect(leftOut).toMatchObject([{ what: "option", text: expect.stringMatching(/^autotuning is left out/) }]);
  expect(text).toMatch(/a: descriptor\(tl\.float16, \[.*\], \["BLOCK_M", "BLOCK_N"\]\)/);
  expect(text).toMatch(/b: descriptor\.\w+\(tl\.float16, \[.*\], \["BLOCK_N", "BLOCK_M"\]\)/);
});

it("should pad as the descriptor does", async () => {
  const { status, text } = await imported("padded");
  expect(status).toBe("equal");
  expect(text).toContain('["BLOCK"], { paddingOption: "nan" })');
});

it.each([
  ["halved", /block of a_desc along axis 0 is no constant of the kernel.*pass it as a tl\.constexpr of its own/, 35],
  ["asks_for_a_size", /\.shape of a descriptor; pass it as an argument of the kernel/, 46],
])("should refuse %s with what to write", async (name, reason, line) => {
  expect(await imported(name)).toMatchObject({ status: "not imported", reason: expect.stringMatching(reason), line });
});

it.each([
  ["a_desc:*fp32,y:*fp32,BLOCK=64", /a tensor descriptor is given with its block, such as a_desc:tensordesc<fp16\[/],
  ["a_desc:tensordesc<fp32[B]>,y:*fp32,BLOCK=64", /the block of a_desc names B; add B=64, or write a number/],
])("should refuse --types %s with what to write", async (types, reason) => {
  const outcome = await importer.importedByTypes(file, { name: "padded", types });
  expect(outcome).toMatchObject({ status: "not imported", reason: expect.stringMatching(reason) });
});
