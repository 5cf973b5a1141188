/** Imports kernels of Python files, with a worker for all tests of a file. */
import { afterAll, beforeAll } from "vitest";
import { parseTypes } from "../../../src/import/given-types.js";
import {
  importKernel,
  type ImportedKernel,
  type ImportTools,
} from "../../../src/runtime/import-check/imported-kernel.js";
import { openScratch, type Scratch } from "../../../src/runtime/import-check/scratch.js";
import type { ImportRequest, ReadKernel } from "../../../src/runtime/worker/protocol.js";
import { Worker } from "../../../src/runtime/worker/worker.js";
import { requirePython } from "../../support/python.js";

export const DEADLINE_MS = 120_000;

type Options = Pick<ImportTools, "specialize" | "lift">;

/** Call it where hooks may be registered: it starts the worker before the first test, and stops it after the last. */
export function useImporter() {
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

  async function read(request: Omit<ImportRequest, "type">) {
    const reply = await worker.request({ type: "import", ...request }, DEADLINE_MS);
    if (!reply.ok) throw new Error(reply.error.message);
    return reply.result;
  }

  /** The kernels that a script with launches of its own launches. */
  const readLaunched = (file: string) => read({ file, kernels: [], call: file });

  const imported = (kernel: ReadKernel, options: Options = {}): Promise<ImportedKernel> =>
    importKernel(kernel, { worker, scratch, language: async () => {}, deadlineMs: DEADLINE_MS, ...options });

  /** Imports a kernel by the types of a call, such as `x:*fp32,n:i32`. */
  async function importedByTypes(
    file: string,
    { name, types }: { readonly name: string; readonly types: string },
    options: Options = {},
  ): Promise<ImportedKernel> {
    const { kernels } = await read({ file, kernels: [name], types: parseTypes(types) });
    return imported(kernels[0]!, options);
  }

  return { readLaunched, imported, importedByTypes };
}

/** Imports each kernel once. */
export function importedOnce(importNew: (name: string) => Promise<ImportedKernel>) {
  const known = new Map<string, Promise<ImportedKernel>>();
  return (name: string): Promise<ImportedKernel> => {
    const made = known.get(name) ?? importNew(name);
    known.set(name, made);
    return made;
  };
}
