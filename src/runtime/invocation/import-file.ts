/** Imports kernel files, natively or with tsx. */
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { findUp } from "../system/files.js";
import { EnvironmentError, UsageError } from "../system/errors.js";

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
export async function importFile(file: string): Promise<Exports> {
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
