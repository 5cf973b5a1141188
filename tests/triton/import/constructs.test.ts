/** Each construct of Python that Triton accepts, in a kernel written by hand: imported, it has the same IR. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { parseTypes } from "../../../src/import/given-types.js";
import { importKernel } from "../../../src/runtime/importing/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/importing/scratch.js";
import { Worker } from "../../../src/runtime/python/worker.js";
import { drawn } from "../../support/drawn.js";
import { requirePython } from "../../support/python.js";

const deadlineMs = 120_000;
const file = fileURLToPath(new URL("constructs.py", import.meta.url));
const written = readFileSync(file, "utf8").matchAll(/^# (.*)\n@triton\.jit\ndef (\w+)/gm);
const constructs = [...written].map(([, types, name]) => ({ name: name!, types: types! }));

let worker: Worker;
let scratch: Scratch;
beforeAll(async () => {
  worker = new Worker({ python: await requirePython(), device: "compiler" });
  scratch = await openScratch();
});
afterAll(async () => {
  await worker.stop();
  await scratch.remove();
});

const chosen = drawn("constructs of Python that are imported", constructs, {
  key: ({ name }) => name,
  sources: () => ["src/import", "tests/triton/import/constructs.py"],
});

it.each(chosen)("should import $name with the same IR", async ({ name, types }) => {
  const reply = await worker.request({ type: "import", file, kernels: [name], types: parseTypes(types) }, deadlineMs);
  if (!reply.ok) throw new Error(reply.error.message);
  const [read] = reply.result.kernels;
  const { built: _, ...outcome } = await importKernel(read!, { worker, scratch, language: async () => {}, deadlineMs });
  expect(outcome.status, JSON.stringify(outcome, undefined, 2)).toBe("equal");
});
