/** The location of an emitted module while it runs. */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { Remote } from "../worker/host.js";
import { EnvironmentError } from "../system/errors.js";
import { isRunning } from "../system/processes.js";

/** A separate folder for an emitted module while it runs. */
export interface Workspace {
  readonly module: string;
  remove(): Promise<void>;
}

const PREFIX = "tilescript-module-";
const DAY_MS = 86_400_000;
let swept: Promise<void> | undefined;

/**
 * Removes folders of killed processes. A process in another container may have the same id, so only folders older than
 * a day are removed.
 */
export async function removeStaleModules(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (!pid || isRunning(pid)) continue;
    const folder = join(tmpdir(), name);
    const stats = await stat(folder).catch(() => undefined);
    // Folders of other users cannot be removed.
    if (stats && Date.now() - stats.mtimeMs > DAY_MS) await rm(folder, { recursive: true }).catch(() => undefined);
  }
}

const checkedKernels = new WeakMap<CompiledKernel, CompiledKernel>();

/** The kernel with a module that compares the elements of tensors with their declared ranges. */
export function checkedKernel(kernel: CompiledKernel): CompiledKernel {
  if (!kernel.signature.tensors.some(({ range, partition }) => range ?? partition)) return kernel;
  let checked = checkedKernels.get(kernel);
  if (!checked) {
    const { python, map } = kernel.emit({ checked: true });
    checkedKernels.set(kernel, (checked = { ...kernel, python, map }));
  }
  return checked;
}

/** Writes the module to a file that Python can import and whose source it can read, on this machine or the worker's. */
export async function openWorkspace(kernel: CompiledKernel, host?: Remote): Promise<Workspace> {
  if (host) {
    const { path, remove } = await host.upload(kernel.file, kernel.python);
    return { module: path, remove };
  }
  let folder: string | undefined;
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    await (swept ??= removeStaleModules());
    folder = await mkdtemp(join(tmpdir(), `${PREFIX}${process.pid}-`));
    const module = join(folder, kernel.file);
    await writeFile(module, kernel.python);
    return { module, remove };
  } catch (error) {
    await remove();
    const { code } = error as NodeJS.ErrnoException;
    throw new EnvironmentError(`cannot write a module to ${tmpdir()} (${code}); set TMPDIR to a writable folder`);
  }
}
