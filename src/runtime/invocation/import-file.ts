/** Importing an author's file: as the runtime itself reads it, and with tsx where it does not. */
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { resolve } from "node:path";
import { setImmediate } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { findUp } from "../system/package-folder.js";
import { EnvironmentError, UsageError } from "../system/errors.js";

type Exports = Readonly<Record<string, unknown>>;

/** Runtimes that read TypeScript, and for which tsx is not made. */
const isOther = process.versions["bun"] !== undefined || process.versions["deno"] !== undefined;

/** Whether TypeScript is read without tsx. Node does so from 22.18 on, but for a few constructs. */
export const readsTypeScript: boolean =
  isOther || ("typescript" in process.features && Boolean(process.features.typescript));

/** The repository runs from its sources, which tsx reads already: a file gets the same modules only from it. */
const runsSources = import.meta.url.endsWith(".ts");

/** Whether the runtime reads the file, as far as its name and its package tell. */
const isReadHere = (file: string): boolean =>
  isOther ||
  (!runsSources &&
    (/\.[cm]?js$/.test(file) || (readsTypeScript && /\.[cm]?ts$/.test(file) && !isCommonJs(resolve(file)))));

/** Node erases the types of TypeScript, but makes no CommonJS of its `import`. Without a type it looks at the text. */
function isCommonJs(file: string): boolean {
  if (!file.endsWith(".ts")) return file.endsWith(".cts");
  const manifest = findUp(file, "package.json");
  if (manifest === undefined) return false;
  try {
    return (JSON.parse(readFileSync(manifest, "utf8")) as { readonly type?: unknown }).type === "commonjs";
  } catch {
    // Node says what is wrong with it.
    return false;
  }
}

/**
 * Imports a file. What it does in the next turn of the event loop is done, too, so that an error there comes before any
 * report.
 *
 * @throws UsageError if only tsx can read the file, and whatever the file throws.
 */
export async function importFile(file: string): Promise<Exports> {
  const found = await read(file);
  await setImmediate();
  return found;
}

async function read(file: string): Promise<Exports> {
  const { href } = pathToFileURL(resolve(file));
  if (!isReadHere(file)) return (await registerFor(file)) ? importByTsx(href) : importHere(file, href);
  try {
    return (await import(href)) as Exports;
  } catch (error) {
    // Of what it imports, some may be for tsx alone. Nothing has run yet: these errors come before evaluation.
    if (!isForTsx(error) || isOther || !(await registerFor(file))) throw needsTsx(file, error);
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
    const found = (await import(href)) as Exports;
    // In a package of CommonJS, as `npm init` makes one, tsx gives the exports as a whole.
    const whole = Object(found["default"]) as Exports;
    return whole["__esModule"] === true ? whole : found;
  } catch (error) {
    throw whereTsxWrites(error);
  }
}

let registered: { readonly project: string | undefined; readonly unregister: () => Promise<void> } | undefined;

/**
 * Lets Node import TypeScript by the installed tsx, with the tsconfig of the file's project. Without a namespace of
 * tsx: so an author's `import "tilescript"` is the package that runs already, and need not be loaded twice. Returns
 * false if tsx is not installed.
 */
async function registerFor(file: string): Promise<boolean> {
  const project = projectOf(file);
  if (registered && registered.project === project) return true;
  const found = await Promise.all([import("tsx/esm/api"), import("tsx/cjs/api")]).catch(() => undefined);
  if (!found) return false;
  const [modules, commonJs] = found;
  await registered?.unregister();
  const forget = withTsconfig(project, () => commonJs.register());
  const unregister = modules.register(project === undefined ? {} : { tsconfig: project });
  registered = {
    project,
    async unregister() {
      forget();
      await unregister();
    },
  };
  return true;
}

/** tsx keeps its cache among the temporary files. */
function whereTsxWrites(error: unknown): unknown {
  const { path, syscall, code } = Object(error) as NodeJS.ErrnoException;
  return path?.startsWith(tmpdir()) && syscall === "mkdir"
    ? new EnvironmentError(`cannot write to ${tmpdir()} (${code}); set TMPDIR to a writable folder`)
    : error;
}

/** What Node says of TypeScript that it does not read. */
const unread = /^ERR_(UNKNOWN_FILE_EXTENSION|(UNSUPPORTED|INVALID)_TYPESCRIPT_SYNTAX)$/;

/** What it says of an ES module's text in a package of CommonJS. */
const unmade = /^(Cannot use import statement outside a module|Unexpected token 'export')/;

/** Whether the error says that the runtime does not read a file, or does not find a module that tsx may. */
function isForTsx(error: unknown): boolean {
  const { code = "", url = "" } = Object(error) as NodeJS.ErrnoException & { readonly url?: string };
  if (unread.test(code)) return true;
  if (code !== "ERR_MODULE_NOT_FOUND") return false;
  // An import of `./a.js` that is `a.ts`, or of a name among the `paths` of a tsconfig, which has no URL.
  return url === "" || (url.endsWith("js") && existsSync(new URL(url.replace(/js$/, "ts"))));
}

function needsTsx(file: string, error: unknown): unknown {
  const { code = "", url = "" } = Object(error) as NodeJS.ErrnoException & { readonly url?: string };
  const isUnmade = error instanceof SyntaxError && unmade.test(error.message) && /\.c?ts$/.test(file);
  return isUnmade || (isForTsx(error) && (code !== "ERR_MODULE_NOT_FOUND" || url !== ""))
    ? new UsageError(`reading ${file} needs tsx; \`npm install --save-dev tsx\` installs it`)
    : error;
}

/** The tsconfig of the file's project, whatever folder the command runs in. */
function projectOf(file: string): string | undefined {
  return process.env[TSCONFIG] ?? findUp(resolve(file), "tsconfig.json");
}

/** The variable that tsx asks for the tsconfig; for CommonJS, it asks nothing else. */
const TSCONFIG = "TSX_TSCONFIG_PATH";

/** Registers with the variable set. Later processes, which get the environment, may have another project. */
function withTsconfig<R>(tsconfig: string | undefined, register: () => R): R {
  const given = process.env[TSCONFIG];
  if (tsconfig !== undefined) process.env[TSCONFIG] = tsconfig;
  try {
    return register();
  } finally {
    if (given === undefined) delete process.env[TSCONFIG];
  }
}
