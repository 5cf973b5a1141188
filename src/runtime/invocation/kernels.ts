/** Finds kernel files, imports them, and selects and builds their kernels. */
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { CompiledKernel, OutputProof, ProofCache } from "../../compiled/compiled-kernel.js";
import type { TileScriptError } from "../../diagnostics/diagnostic.js";
import { didYouMean, suggestName } from "../../diagnostics/message.js";
import { printDiagnostic } from "../report/text-blocks.js";
import { type Runnable, runnableOf } from "./command.js";
import { importFile } from "./import-file.js";
import { UsageError } from "../system/errors.js";
import type { Streams } from "../system/streams.js";

/** The files that match names and patterns. */
export async function kernelFiles(patterns: readonly string[]): Promise<string[]> {
  const files: string[] = [];
  for (const name of patterns) {
    const info = await stat(name).catch(() => undefined);
    if (info?.isDirectory())
      throw new UsageError(`${name} is a folder; name files, or a pattern such as '${join(name, "**/*.ts")}'`);
    if (info && !isScript(name))
      throw new UsageError(`${name} is not a TypeScript file; name one that exports kernels`);
    if (info) files.push(name);
    else {
      const { glob, isDynamicPattern } = await import("tinyglobby");
      if (!isDynamicPattern(name)) throw new UsageError(`there is no file ${name}; ${await similarFile(name)}`);
      const paths = await glob(name, { ignore: "**/node_modules/**", expandDirectories: false });
      const matched = paths.filter((path) => isScript(path) && !isTest(path));
      if (matched.length === 0) throw new UsageError(`no file matches ${name}; quote it and check the path`);
      files.push(...matched.sort());
    }
  }
  // A file may be named more than once.
  return [...new Map(files.map((file) => [resolve(file), file])).values()];
}

/** The remedy for a file that does not exist. */
async function similarFile(name: string): Promise<string> {
  const entries = await readdir(dirname(name)).catch(() => []);
  const scripts = entries.filter((entry) => isScript(entry));
  const withoutSuffix = scripts.find((entry) => entry.replace(/\.\w+$/, "") === basename(name));
  const near = withoutSuffix ?? suggestName(basename(name), scripts);
  return near === undefined ? "check the path" : `did you mean ${join(dirname(name), near)}?`;
}

export const isScript = (name: string): boolean => /\.[cm]?[jt]sx?$/.test(name);
/** Tests cannot be imported outside their runner, and declaration files have no kernels. */
const isTest = (name: string): boolean => /\.(test|spec|d)\.[cm]?[jt]sx?$/.test(name);

/**
 * Imports `files` and collects their kernels. `names` are the names on the command line. `language` loads the package
 * that they import; it runs before tsx is registered, because the hooks of tsx slow down every module.
 */
export async function importKernels(
  files: readonly string[],
  names: readonly string[],
  language: () => Promise<unknown>,
): Promise<Runnable[]> {
  const kernels = new Map<unknown, Runnable>();
  await language();
  for (const file of files) {
    const exported = await importFile(file);
    const runnables = Object.values(exported).flatMap((value) => {
      const runnable = runnableOf(value);
      return runnable ? [[value, runnable] as const] : [];
    });
    // A pattern may also match files without kernels.
    if (runnables.length === 0 && names.includes(file))
      throw new UsageError(`${file} exports no kernel; ${hint(exported)}`);
    for (const [kernel, runnable] of runnables) kernels.set(kernel, runnable);
  }
  if (kernels.size === 0) throw new UsageError(`no file of ${names.join(", ")} exports a kernel`);
  return [...kernels.values()];
}

/** The remedy for a file without kernels. */
function hint(exported: Readonly<Record<string, unknown>>): string {
  const promised = Object.keys(exported).find((name) => exported[name] instanceof Promise);
  return promised === undefined
    ? "write `export const gemm = kernel(…)`"
    : `${promised} is a promise: export its result, with await`;
}

/** The kernel of this name, or all kernels. */
export function selectKernels(kernels: readonly Runnable[], name: string | undefined): readonly Runnable[] {
  if (name === undefined) return kernels;
  const chosen = kernels.filter((kernel) => kernel.name === name);
  if (chosen.length === 0) {
    const names = kernels.map((kernel) => kernel.name);
    const remedy = didYouMean(name, names, `the kernels are ${names.join(", ")}`);
    throw new UsageError(`--kernel: there is no kernel ${name}; ${remedy}`);
  }
  return chosen;
}

/** Throws UsageError for equal kernel names, because files and records are named after their kernel. */
export function refuseSameNames(kernels: readonly { readonly name: string }[]): void {
  const names = kernels.map(({ name }) => name);
  const duplicate = names.find((each, i) => names.indexOf(each) !== i);
  if (duplicate !== undefined) throw new UsageError(`two kernels are called ${duplicate}; rename one`);
}

/** Builds the kernels sequentially, because they share the index of the author's source. */
export async function compileAll(kernels: readonly Runnable[]): Promise<CompiledKernel[]> {
  const compiled: CompiledKernel[] = [];
  for (const kernel of kernels) compiled.push(await kernel.compile());
  return compiled;
}

export function warn(kernels: readonly Pick<CompiledKernel, "warnings">[], streams: Streams): void {
  for (const { warnings } of kernels) for (const warning of warnings) printDiagnostic(warning, streams);
}

/** Checks the name instead of the class: a kernel file may use another copy of the package. */
export function isBuildError(error: unknown): error is TileScriptError {
  return error instanceof Error && error.name === "TileScriptError" && "diagnostics" in error;
}

// The kernels of another file, with which `check --against` compares those of the same names.

export interface OtherKernels {
  readonly file: string;
  /** By the names of the kernels that they are compared with. */
  readonly kernels: ReadonlyMap<Runnable, Runnable>;
}

/** @throws UsageError if a kernel has no other one: of its name, or the only one if both files have one. */
export async function otherKernels(file: string, kernels: readonly Runnable[]): Promise<OtherKernels> {
  const [path = file] = await kernelFiles([file]);
  const others = Object.values(await importFile(path)).flatMap((value) => runnableOf(value) ?? []);
  const otherOf = (kernel: Runnable): Runnable => {
    const named = others.find(({ name }) => name === kernel.name);
    const only = others.length === 1 && kernels.length === 1 ? others[0] : undefined;
    const other = named ?? only;
    if (other) return other;
    const names = others.map(({ name }) => name).join(", ");
    throw new UsageError(`--against: ${file} has no kernel ${kernel.name}; it has ${names || "none"}`);
  };
  return { file, kernels: new Map(kernels.map((kernel) => [kernel, otherOf(kernel)])) };
}

/** The verdicts of a kernel's outputs against the other one's. */
export async function compareWith(
  kernel: Runnable,
  compiled: CompiledKernel,
  { kernels }: OtherKernels,
  cache: ProofCache | undefined,
): Promise<readonly OutputProof[]> {
  const other = await kernels.get(kernel)?.compile();
  if (!other) return [];
  // Proofs come from the cache.
  other.proof(cache);
  return compiled.against(other);
}
