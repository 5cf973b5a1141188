/** The kernels that a command works on: finding the files, importing them, choosing, building. */
import { stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import type { CompiledKernel } from "../../compiled/compiled-kernel.js";
import type { TileScriptError } from "../../diagnostics/diagnostic.js";
import { runnableOf } from "./builders.js";
import { diagnosticText } from "../report/code-frame.js";
import type { Runnable } from "./command.js";
import { importFile } from "./import-file.js";
import { UsageError } from "../system/errors.js";
import type { Streams } from "../system/streams.js";

/** The files that match names and patterns. */
export async function kernelFiles(given: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const name of given) {
    const found = await stat(name).catch(() => undefined);
    if (found?.isDirectory())
      throw new UsageError(`${name} is a folder; name files, or a pattern such as '${join(name, "**/*.ts")}'`);
    if (found && !isScript(name))
      throw new UsageError(`${name} is not a TypeScript file; name one that exports kernels`);
    if (found) files.push(name);
    else {
      const { glob, isDynamicPattern } = await import("tinyglobby");
      if (!isDynamicPattern(name)) throw new UsageError(`there is no file ${name}; check the path`);
      const found = await glob(name, { ignore: "**/node_modules/**", expandDirectories: false });
      const matched = found.filter((path) => isScript(path) && !isTest(path));
      if (matched.length === 0) throw new UsageError(`no file matches ${name}; quote it and check the path`);
      files.push(...matched.sort());
    }
  }
  // One file may be named in several ways.
  return [...new Map(files.map((file) => [resolve(file), file])).values()];
}

export const isScript = (name: string): boolean => /\.[cm]?[jt]sx?$/.test(name);
/** Tests do not load outside their runner, and declarations hold no kernel. */
const isTest = (name: string): boolean => /\.(test|spec|d)\.[cm]?[jt]sx?$/.test(name);

/**
 * Imports `files`, which `given` names, and collects the kernels. `language` loads what they import: before tsx is
 * registered, as every module that goes through its hooks costs more.
 */
export async function importKernels(
  files: readonly string[],
  given: readonly string[],
  language: () => Promise<unknown>,
): Promise<Runnable[]> {
  const kernels = new Map<unknown, Runnable>();
  await language();
  for (const file of files) {
    const exported = await importFile(file);
    const found = Object.values(exported).flatMap((value) => {
      const runnable = runnableOf(value);
      return runnable ? [[value, runnable] as const] : [];
    });
    // A pattern may match other files too.
    if (found.length === 0 && given.includes(file))
      throw new UsageError(`${file} exports no kernel; ${hint(exported)}`);
    for (const [kernel, runnable] of found) kernels.set(kernel, runnable);
  }
  if (kernels.size === 0) throw new UsageError(`no file of ${given.join(", ")} exports a kernel`);
  return [...kernels.values()];
}

/** The remedy for a file without a kernel. */
function hint(exported: Readonly<Record<string, unknown>>): string {
  const promised = Object.keys(exported).find((name) => exported[name] instanceof Promise);
  return promised === undefined
    ? "write `export const gemm = kernel(…)`"
    : `${promised} is a promise: export what it resolves to, with await`;
}

/** The kernel of this name, or all of them. */
export function selectKernels(kernels: readonly Runnable[], name: string | undefined): readonly Runnable[] {
  if (name === undefined) return kernels;
  const chosen = kernels.filter((kernel) => kernel.name === name);
  const known = kernels.map((kernel) => kernel.name).join(", ");
  if (chosen.length === 0) throw new UsageError(`--kernel: there is no kernel ${name}; the kernels are ${known}`);
  return chosen;
}

/** Refuses kernels whose files or records would be one, since each goes by its kernel's name. */
export function refuseSameNames(kernels: readonly { readonly name: string }[]): void {
  const names = kernels.map(({ name }) => name);
  const twice = names.find((each, i) => names.indexOf(each) !== i);
  if (twice !== undefined) throw new UsageError(`two kernels are called ${twice}; rename one`);
}

/** Builds one kernel after another, because they share the index of the author's source. */
export async function compileAll(kernels: readonly Runnable[]): Promise<CompiledKernel[]> {
  const compiled: CompiledKernel[] = [];
  for (const kernel of kernels) compiled.push(await kernel.compile());
  return compiled;
}

export function warn(kernels: readonly Pick<CompiledKernel, "warnings">[], streams: Streams): void {
  for (const { warnings } of kernels) for (const warning of warnings) streams.err(`${diagnosticText(warning)}\n`);
}

/** By name: a kernel file of a project with another installation has its own copy of the class. */
export function isBuildError(error: unknown): error is TileScriptError {
  return error instanceof Error && error.name === "TileScriptError" && "diagnostics" in error;
}
