/** The kernels that a command works on: finding the files, importing them, choosing, building. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { glob, isDynamicPattern } from "tinyglobby";
import type { CompiledKernel } from "../compiled.js";
import type { TileScriptError } from "../diagnostics.js";
import { runnableOf } from "./builders.js";
import { diagnosticText } from "./code-frame.js";
import type { Runnable } from "./commands/command.js";
import { UsageError } from "./problems.js";
import type { Streams } from "./streams.js";

/** The files that names and patterns mean. */
export async function kernelFiles(given: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const name of given) {
    if (existsSync(name)) files.push(name);
    else if (!isDynamicPattern(name)) throw new UsageError(`there is no file ${name}`);
    else {
      const found = await glob(name, { ignore: "**/node_modules/**", expandDirectories: false });
      if (found.length === 0) throw new UsageError(`no file matches ${name}`);
      files.push(...found.sort());
    }
  }
  return [...new Set(files)];
}

/** Imports `files`, which `given` names, with the tsx that is installed, and takes what can be compiled. */
export async function importKernels(files: readonly string[], given: readonly string[]): Promise<Runnable[]> {
  let tsx: typeof import("tsx/esm/api");
  try {
    tsx = await import("tsx/esm/api");
  } catch {
    throw new UsageError(`reading ${files[0]} needs tsx; \`npm install --save-dev tsx\` installs it`);
  }
  const kernels = new Map<unknown, Runnable>();
  for (const file of files) {
    const url = pathToFileURL(resolve(file)).href;
    const exported = (await tsx.tsImport(url, import.meta.url)) as Record<string, unknown>;
    const found = Object.values(exported).flatMap((value) => {
      const runnable = runnableOf(value);
      return runnable ? [[value, runnable] as const] : [];
    });
    // A pattern may match other files too.
    if (found.length === 0 && given.includes(file)) throw new UsageError(`${file} exports no kernel`);
    for (const [kernel, runnable] of found) kernels.set(kernel, runnable);
  }
  if (kernels.size === 0) throw new UsageError(`no file of ${given.join(", ")} exports a kernel`);
  return [...kernels.values()];
}

/** The kernel of this name, or all of them. */
export function choose(kernels: readonly Runnable[], name: string | undefined): readonly Runnable[] {
  if (name === undefined) return kernels;
  const chosen = kernels.filter((kernel) => kernel.name === name);
  const known = kernels.map((kernel) => kernel.name).join(", ");
  if (chosen.length === 0) throw new UsageError(`--kernel: there is no ${name}; there is ${known}`);
  return chosen;
}

/** Builds one after another: all of them share the index of the author's source. */
export async function compileAll(kernels: readonly Runnable[]): Promise<CompiledKernel[]> {
  const compiled: CompiledKernel[] = [];
  for (const kernel of kernels) compiled.push(await kernel.compile());
  return compiled;
}

export function warn(kernels: readonly CompiledKernel[], streams: Streams): void {
  for (const { warnings } of kernels) for (const warning of warnings) streams.err(`${diagnosticText(warning)}\n`);
}

/** By name: a kernel file that tsx imported has its own copy of the class. */
export function isBuildError(error: unknown): error is TileScriptError {
  return error instanceof Error && error.name === "TileScriptError" && "diagnostics" in error;
}
