/** Builds kernels of hostile names, and loads and calls in one Python what they become. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { build } from "tilescript";
import { TileScriptError } from "../../../../src/diagnostics/diagnostic.js";
import { runScript, inTemporaryFolder, requirePython } from "../../../support/python.js";
import { HostileNames } from "./hostile-names.js";

export interface Tried {
  readonly built: number;
  /** The sentences of kernels that do not build, with their place in the file. */
  readonly refusals: readonly string[];
  /** What went wrong, with the kernel's place in the file. */
  readonly failures: readonly string[];
  /** The emitted modules, by their kernel's place. */
  readonly modules: ReadonlyMap<number, string>;
}

/** Builds `count` kernels, and loads and calls the first `called` modules. */
export async function tryNames(seed: number, count: number, called = count): Promise<Tried> {
  const [failures, refusals, modules] = [[] as string[], [] as string[], new Map<number, string>()];
  // The build reads the file for comments and names.
  await inTemporaryFolder(async (folder) => {
    const path = join(folder, "kernels.mts");
    const tilescript = fileURLToPath(new URL("../../../../src/index.ts", import.meta.url));
    await writeFile(path, new HostileNames(seed).file(count, tilescript));
    const { kernels } = (await import(pathToFileURL(path).href)) as { kernels: readonly (() => unknown)[] };
    for (const [i, make] of kernels.entries())
      try {
        modules.set(i, (await build(make())).python);
      } catch (error) {
        const isRefused = error instanceof TileScriptError && !error.message.startsWith("internal");
        if (isRefused) refusals.push(`${i}: ${error.message.split("\n")[0]}`);
        else failures.push(`${i}: the build fails with ${String(error)}`);
      }
  });
  const lines = [...modules].slice(0, called).map(([id, module]) => ({ id, module }));
  const script = new URL("hostile_names.py", import.meta.url);
  const faults = await runScript<Readonly<Record<string, string>>>(await requirePython(), script, lines);
  failures.push(...Object.entries(faults).map(([i, why]) => `${i}: ${why}`));
  return { built: modules.size, refusals, failures, modules };
}
