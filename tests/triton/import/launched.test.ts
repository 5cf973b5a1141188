/** Kernels with the launches of a script: several calls in one file, and what scripts do beside a launch. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { importKernel, type ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/import-check/scratch.js";
import type { ReadKernel } from "../../../src/runtime/worker/protocol.js";
import { Worker } from "../../../src/runtime/worker/worker.js";
import { requirePython } from "../../support/python.js";

const deadlineMs = 120_000;
const file = fileURLToPath(new URL("launched.py", import.meta.url));

let worker: Worker;
let scratch: Scratch;
let kernels: readonly ReadKernel[];
let stopped: string | undefined;
beforeAll(async () => {
  worker = new Worker({ python: await requirePython(), device: "compiler" });
  scratch = await openScratch();
  const reply = await worker.request({ type: "import", file, kernels: [], call: file }, deadlineMs);
  if (!reply.ok) throw new Error(reply.error.message);
  ({ kernels, stopped } = reply.result);
}, deadlineMs);
afterAll(async () => {
  await worker.stop();
  await scratch.remove();
});

const imported = (name: string): Promise<ImportedKernel> =>
  importKernel(
    kernels.find((each) => each.name === name)!,
    { worker, scratch, language: async () => {}, deadlineMs },
  );

it("should run a script that reads what an autotuner chose, times a launch and asks a generator", () => {
  expect(stopped).toBeUndefined();
  expect(kernels.map(({ name }) => name).toSorted()).toEqual(["flags_of_given_pointers", "tuned"]);
});

it("should ask for a pointer itself where a flag says that it is given, for all calls", async () => {
  const { status, text, calls } = await imported("flags_of_given_pointers");
  expect([status, calls]).toEqual(["equal", undefined]);
  expect(text).toContain("tl.when(bias.given, () =>");
  expect(text).toContain("tl.when(scale.given, () =>");
  expect(text).not.toContain("HAS_");
});

it("should import a kernel whose tuned config the script uses", async () => {
  expect((await imported("tuned")).status).toBe("equal");
});
