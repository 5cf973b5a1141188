/** Finds kernel files, imports them, and selects and builds their kernels. */
import { readdir, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import type { CompiledKernel, OutputProof, ProofCache } from "../../compiled/compiled-kernel.js";
import type { TileScriptError } from "../../diagnostics/diagnostic.js";
import { didYouMean, suggestName } from "../../diagnostics/message.js";
import { printDiagnostic } from "../report/text-blocks.js";
import { type Runnable, runnableOf } from "./command.js";
import { UsageError, EnvironmentError } from "../system/errors.js";
import type { Streams } from "../system/streams.js";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { findUp } from "../system/files.js";

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

// Imports kernel files, natively or with tsx.

type Exports = Readonly<Record<string, unknown>>;

/** True for other runtimes that read TypeScript natively and do not need tsx. */
const isOtherRuntime = process.versions["bun"] !== undefined || process.versions["deno"] !== undefined;

/** True if the runtime reads TypeScript without tsx. Node does so from 22.18 on, except for a few constructs. */
export const readsTypeScript: boolean =
  isOtherRuntime || ("typescript" in process.features && Boolean(process.features.typescript));

/**
 * True if this package runs from its sources. Then tsx reads them, and kernel files must share its module instances.
 */
const runsSources = import.meta.url.endsWith(".ts");

/** True if the runtime can read the file, judging by its name and its package. */
const isNativelyReadable = (file: string): boolean =>
  isOtherRuntime ||
  (!runsSources &&
    (/\.[cm]?js$/.test(file) || (readsTypeScript && /\.[cm]?ts$/.test(file) && !isCommonJs(resolve(file)))));

/** Node strips types but does not convert `import` to CommonJS. Without a package type, it inspects the text. */
function isCommonJs(file: string): boolean {
  if (!file.endsWith(".ts")) return file.endsWith(".cts");
  const manifest = findUp(file, "package.json");
  if (manifest === undefined) return false;
  try {
    return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly type?: unknown }).type === "commonjs";
  } catch {
    // Node reports the problem with the file.
    return false;
  }
}

/**
 * Imports a file. Also waits for the next tick of the event loop, so that an error there precedes any report.
 *
 * @throws UsageError if only tsx can read the file, and any error that the file throws.
 */
async function importFile(file: string): Promise<Exports> {
  const exports = await importOnce(file);
  await setImmediate();
  return exports;
}

async function importOnce(file: string): Promise<Exports> {
  const { href } = pathToFileURL(resolve(file));
  if (!isNativelyReadable(file)) return (await registerFor(file)) ? importByTsx(href) : importHere(file, href);
  try {
    return (await import(href)) as Exports;
  } catch (error) {
    // A module that the file imports may need tsx. These errors precede evaluation, so nothing has run yet.
    if (!isForTsx(error) || isOtherRuntime || !(await registerFor(file))) throw needsTsx(file, error);
    return importByTsx(`${href}?tsx`);
  }
}

async function importHere(file: string, href: string): Promise<Exports> {
  try {
    return (await import(href)) as Exports;
  } catch (error) {
    throw needsTsx(file, error);
  }
}

async function importByTsx(href: string): Promise<Exports> {
  try {
    const exports = (await import(href)) as Exports;
    // For a CommonJS package, the default of `npm init`, tsx puts all exports into `default`.
    const defaultExport = Object(exports["default"]) as Exports;
    return defaultExport["__esModule"] === true ? defaultExport : exports;
  } catch (error) {
    throw explainTsxError(error);
  }
}

let registration: { readonly project: string | undefined; readonly unregister: () => Promise<void> } | undefined;

/**
 * Registers the installed tsx with the tsconfig of the file's project. A tsx namespace is not used, so an author's
 * `import "tilescript"` resolves to the running package instead of a second copy. Returns false if tsx is not
 * installed.
 */
export async function registerFor(file: string): Promise<boolean> {
  const project = projectOf(file);
  if (registration && registration.project === project) return true;
  const apis = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]).catch(() => undefined);
  if (!apis) return false;
  const [modules, commonJs] = apis;
  await registration?.unregister();
  const unregisterCommonJs = withTsconfig(project, () => commonJs.register());
  const unregister = modules.register(project === undefined ? {} : { tsconfig: project });
  registration = {
    project,
    async unregister() {
      unregisterCommonJs();
      await unregister();
    },
  };
  return true;
}

/** Explains the error if tsx cannot write its cache, which is in the temporary folder. */
function explainTsxError(error: unknown): unknown {
  const { path, syscall, code } = Object(error) as NodeJS.ErrnoException;
  return path?.startsWith(tmpdir()) && syscall === "mkdir"
    ? new EnvironmentError(`cannot write to ${tmpdir()} (${code}); set TMPDIR to a writable folder`)
    : error;
}

/** The codes of Node's errors for TypeScript that it cannot read. */
const UNREADABLE_CODE = /^ERR_(UNKNOWN_FILE_EXTENSION|(UNSUPPORTED|INVALID)_TYPESCRIPT_SYNTAX)$/;

/** Node's errors for an ES module in a CommonJS package. */
const ESM_IN_COMMONJS = /^(Cannot use import statement outside a module|Unexpected token 'export')/;

/** True if the runtime cannot read a file, or cannot find a module that tsx may find. */
function isForTsx(error: unknown): boolean {
  const { code = "", url = "" } = Object(error) as NodeJS.ErrnoException & { readonly url?: string };
  if (UNREADABLE_CODE.test(code)) return true;
  if (code !== "ERR_MODULE_NOT_FOUND") return false;
  // An import of `./a.js` for `a.ts`, or of a name in the `paths` of a tsconfig, for which the error has no URL.
  return url === "" || (url.endsWith("js") && existsSync(new URL(url.replace(/js$/, "ts"))));
}

function needsTsx(file: string, error: unknown): unknown {
  const { code = "", url = "" } = Object(error) as NodeJS.ErrnoException & { readonly url?: string };
  const isEsmInCommonJs = error instanceof SyntaxError && ESM_IN_COMMONJS.test(error.message) && /\.c?ts$/.test(file);
  return isEsmInCommonJs || (isForTsx(error) && (code !== "ERR_MODULE_NOT_FOUND" || url !== ""))
    ? new UsageError(`reading ${file} needs tsx; \`npm install --save-dev tsx\` installs it`)
    : error;
}

/** The tsconfig of the file's project, independent of the current folder. */
function projectOf(file: string): string | undefined {
  return process.env[TSCONFIG] ?? findUp(resolve(file), "tsconfig.json");
}

/** The variable for the tsconfig of tsx; for CommonJS it is the only way to set it. */
const TSCONFIG = "TSX_TSCONFIG_PATH";

/** Registers with the variable set. It is restored afterwards, because child processes may use another project. */
function withTsconfig<R>(tsconfig: string | undefined, register: () => R): R {
  const previous = process.env[TSCONFIG];
  if (tsconfig !== undefined) process.env[TSCONFIG] = tsconfig;
  try {
    return register();
  } finally {
    if (previous === undefined) delete process.env[TSCONFIG];
  }
}
