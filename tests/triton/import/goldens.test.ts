/** Emitted kernels are imported and emitted again: the hardest test of both ways. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, type CompiledKernel } from "tilescript";
import { importKernel, type ImportedKernel, isEqual } from "../../../src/runtime/importing/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/importing/scratch.js";
import { Worker } from "../../../src/runtime/python/worker.js";
import { drawn } from "../../support/drawn.js";
import { examples, sourcesOf } from "../../support/examples.js";
import { requirePython } from "../../support/python.js";
import { typesOf } from "./emitted-kernels.js";

const deadlineMs = 120_000;
let worker: Worker;
let scratch: Scratch;
let folder: string;

beforeAll(async () => {
  worker = new Worker({ python: await requirePython(), device: "compiler" });
  scratch = await openScratch();
  folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
});
afterAll(async () => {
  await worker.stop();
  await scratch.remove();
  await rm(folder, { recursive: true });
});

/**
 * What the import does not write yet: kernels whose arguments are tensor descriptors, and one whose helper function is
 * called in an unrolled loop.
 */
const left = ["gemm-tma", "gemm-persistent-tma", "linear-gelu", "bitonic-topk"];

const chosen = drawn(
  "examples that are imported",
  examples.filter(({ name }) => !left.includes(name)),
  { key: ({ name }) => name, sources: ({ name }) => sourcesOf(name), least: 3 },
);

async function reimported(kernel: CompiledKernel): Promise<ImportedKernel> {
  const { jit } = kernel.signature;
  const file = join(folder, `${jit}.py`);
  await writeFile(file, kernel.python);
  const request = { type: "import", file, kernels: [jit], types: typesOf(kernel) } as const;
  const reply = await worker.request(request, deadlineMs);
  if (!reply.ok) throw new Error(reply.error.message);
  return importKernel(reply.result.kernels[0]!, {
    worker,
    scratch,
    language: async () => {},
    deadlineMs,
  });
}

it.each(chosen)("should import $name and emit the same IR", async ({ kernel }) => {
  const built = await build(kernel);
  for (const part of built.parts ?? [built]) {
    const { built: _, text: __, ...outcome } = await reimported(part);
    // A dtype that a caller chooses is fixed where one text does not serve several.
    expect(isEqual(outcome), JSON.stringify(outcome)).toBe(true);
  }
});
