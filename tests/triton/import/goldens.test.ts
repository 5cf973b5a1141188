/** Emitted kernels are imported and emitted again: the hardest test of both ways. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { build, type CompiledKernel } from "tilescript";
import { importKernel, type ImportedKernel } from "../../../src/runtime/importing/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/importing/scratch.js";
import { Worker } from "../../../src/runtime/python/worker.js";
import { drawn } from "../../support/drawn.js";
import { examples, sourcesOf } from "../../support/examples.js";
import { requirePython } from "../../support/python.js";
import { bodyOf, typesOf } from "./emitted-kernels.js";

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

/** Kernels whose arguments are tensor descriptors, which the import does not read yet. */
const described = ["gemm-tma", "gemm-persistent-tma", "linear-gelu"];

const chosen = drawn(
  "examples that are imported",
  examples.filter(({ name }) => !described.includes(name)),
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

let identical = 0;
let count = 0;

it.each(chosen)("should import $name and emit the same IR", async ({ kernel }) => {
  const built = await build(kernel);
  for (const part of built.parts ?? [built]) {
    const { built: again, text: _, todos: __, ...outcome } = await reimported(part);
    expect(outcome).toEqual({ kernel: part.signature.jit, status: "equal" });
    count++;
    if (again && bodyOf(part.python, part.signature.jit) === bodyOf(again.python, again.signature.jit)) identical++;
  }
});

it("should emit most bodies to the letter", () => {
  // A drawn part is too small for a share.
  if (count >= 30) expect(identical / count).toBeGreaterThan(0.5);
});
