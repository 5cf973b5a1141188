/** Runs a script of this folder on emitted modules, which are in a temporary folder meanwhile. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { findPython } from "../src/runtime/worker/environment.js";

/** The script's exit code, or 3 without a Python that has torch and triton. Its arguments are the folder and `args`. */
async function runOnModules(
  script: string,
  emitInto: (folder: string) => Promise<void>,
  args: readonly string[],
): Promise<number> {
  const { environment } = await findPython();
  if (!environment) {
    console.error("no Python with torch and triton was found; run npx tilescript setup");
    return 3;
  }
  const folder = mkdtempSync(join(tmpdir(), "tilescript-bench-"));
  try {
    await emitInto(folder);
    const scriptArgs = [resolve(import.meta.dirname, script), folder, ...args];
    return spawnSync(environment.python, scriptArgs, { stdio: "inherit" }).status ?? 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs a script on emitted modules and sets the exit code. With `prepare`, only writes the modules to that folder. */
export async function runOrPrepare(
  prepare: string | undefined,
  script: string,
  emitInto: (folder: string) => Promise<void>,
  args: readonly string[],
): Promise<void> {
  if (prepare === undefined) process.exitCode = await runOnModules(script, emitInto, args);
  else {
    mkdirSync(prepare, { recursive: true });
    await emitInto(prepare);
  }
}

/** A file of bench/results. */
export const resultFile = (name: string): string => resolve(import.meta.dirname, "results", name);
