/** Emitted modules in a folder, and Python on Triton's interpreter to import them. */
import { execa } from "execa";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "../../../src/pipeline/build.js";
import type { CompiledKernel } from "../../../src/contract/compiled.js";
import { requirePython } from "../../support/runtime.js";

/** Builds kernels by the names under which a module exports them. */
export async function buildAll<K extends Readonly<Record<string, unknown>>>(
  kernels: K,
): Promise<{ readonly [N in keyof K]: CompiledKernel }> {
  const built: [string, CompiledKernel][] = [];
  for (const [name, kernel] of Object.entries(kernels)) built.push([name, await build(kernel)]);
  return Object.fromEntries(built) as { readonly [N in keyof K]: CompiledKernel };
}

/** Runs the tests of a Python file beside this one over emitted modules; gives what it printed. Kernels run if interpreted. */
export async function runPython(
  file: string,
  kernels: Readonly<Record<string, { readonly python: string }>>,
  interpreted = true,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-host-"));
  try {
    for (const [name, { python }] of Object.entries(kernels)) await writeFile(join(folder, `${name}.py`), python);
    const env = { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: "1", TRITON_INTERPRET: interpreted ? "1" : "0" };
    const ran = await execa(await requirePython(), [join(import.meta.dirname, file)], { env, reject: false });
    return ran.stderr;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
