/** Kernels that take tensor descriptors, with the launches of a script. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseTypes } from "../../../src/import/given-types.js";
import { importKernel, type ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/import-check/scratch.js";
import type { ReadKernel } from "../../../src/runtime/worker/protocol.js";
import { Worker } from "../../../src/runtime/worker/worker.js";
import { requirePython } from "../../support/python.js";

const deadlineMs = 120_000;
const file = fileURLToPath(new URL("descriptors.py", import.meta.url));

let worker: Worker;
let scratch: Scratch;
let kernels: readonly ReadKernel[];
beforeAll(async () => {
  worker = new Worker({ python: await requirePython(), device: "compiler" });
  scratch = await openScratch();
  const reply = await worker.request({ type: "import", file, kernels: [], call: file }, deadlineMs);
  if (!reply.ok) throw new Error(reply.error.message);
  expect(reply.result.stopped).toBeUndefined();
  ({ kernels } = reply.result);
}, deadlineMs);
afterAll(async () => {
  await worker.stop();
  await scratch.remove();
});

const written = (read: ReadKernel): Promise<ImportedKernel> =>
  importKernel(read, { worker, scratch, language: async () => {}, deadlineMs });
const imported = (name: string): Promise<ImportedKernel> => written(kernels.find((each) => each.name === name)!);

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
  const reply = await worker.request(
    { type: "import", file, kernels: ["padded"], types: parseTypes(types) },
    deadlineMs,
  );
  if (!reply.ok) throw new Error(reply.error.message);
  const outcome = await written(reply.result.kernels[0]!);
  expect(outcome).toMatchObject({ status: "not imported", reason: expect.stringMatching(reason) });
});
