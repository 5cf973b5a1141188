/** Where an emitted module lies while it runs. */
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { Remote } from "../worker/host.js";
import { EnvironmentError } from "../system/errors.js";
import { isRunning } from "../system/process-lock.js";

/** A folder of its own for an emitted module while it runs. */
export interface Workspace {
  readonly module: string;
  remove(): Promise<void>;
}

const PREFIX = "tilescript-module-";
const DAY_MS = 86_400_000;
let swept: Promise<void> | undefined;

/**
 * Removes the folders of processes that a signal ended. A process of another container may have the same number, so
 * only folders that are also a day old go.
 */
export async function removeLeftModules(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names) {
    const pid = Number(new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1]);
    if (!pid || isRunning(pid)) continue;
    const folder = join(tmpdir(), name);
    const made = await stat(folder).catch(() => undefined);
    // Nobody may remove the folders of another user.
    if (made && Date.now() - made.mtimeMs > DAY_MS) await rm(folder, { recursive: true }).catch(() => undefined);
  }
}

/** Writes the module where Python can import it and read its source: on this machine, or on the worker's. */
export async function openWorkspace(kernel: CompiledKernel, host?: Remote): Promise<Workspace> {
  if (host) {
    const { path, remove } = await host.place(kernel.file, kernel.python);
    return { module: path, remove };
  }
  let folder: string | undefined;
  const remove = async (): Promise<void> => {
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  };
  try {
    await (swept ??= removeLeftModules());
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
