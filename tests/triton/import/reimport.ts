/** Emitted kernels imported and emitted again, and whether the second text is the first. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompiledKernel } from "tilescript";
import { importKernel, type ImportedKernel } from "../../../src/runtime/import-check/imported-kernel.js";
import { openScratch } from "../../../src/runtime/import-check/scratch.js";
import { Worker } from "../../../src/runtime/worker/worker.js";
import { typesOf } from "./emitted-kernels.js";

const deadlineMs = 120_000;

export interface Reimporter {
  reimported(kernel: CompiledKernel): Promise<ImportedKernel>;
  stop(): Promise<void>;
}

export async function openReimporter(python: string): Promise<Reimporter> {
  const worker = new Worker({ python, device: "compiler" });
  const scratch = await openScratch();
  const folder = await mkdtemp(join(tmpdir(), "tilescript-test-"));
  return {
    async reimported(kernel) {
      const { jit } = kernel.signature;
      const file = join(folder, `${jit}.py`);
      await writeFile(file, kernel.python);
      const request = { type: "import", file, kernels: [jit], types: typesOf(kernel) } as const;
      const reply = await worker.request(request, deadlineMs);
      if (!reply.ok) throw new Error(reply.error.message);
      return importKernel(reply.result.kernels[0]!, { worker, scratch, language: async () => {}, deadlineMs });
    },
    async stop() {
      await worker.stop();
      await scratch.remove();
      await rm(folder, { recursive: true });
    },
  };
}

/** The bodies of a module's kernel and of its helper functions, by name: what stands below their parameters. */
export function bodiesOf(python: string): Readonly<Record<string, string>> {
  const functions = python.matchAll(/^@triton\.jit(?:\(.*\))?\ndef (\w+)\([^]*?\):\n((?:(?:[ ].*)?\n)*)/gm);
  return Object.fromEntries([...functions].map(([, name, body]) => [name!, body!.trimEnd()]));
}
