/** Importing an author's file: with tsx if it is installed, and else as the runtime itself reads it. */
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { EnvironmentError, UsageError } from "../system/problems.js";

type Exports = Readonly<Record<string, unknown>>;

/** Runtimes that read TypeScript, and for which tsx is not made. */
const isOther = process.versions["bun"] !== undefined || process.versions["deno"] !== undefined;

/** Whether TypeScript is read without tsx. Node does so from 22.18 on, but for a few constructs. */
export const readsTypeScript: boolean =
  isOther || ("typescript" in process.features && Boolean(process.features.typescript));

/** @throws UsageError if only tsx can read the file, and whatever the file throws. */
export async function importFile(file: string): Promise<Exports> {
  const hasTsx = !isOther && (await registerFor(file));
  try {
    return (await import(pathToFileURL(resolve(file)).href)) as Exports;
  } catch (error) {
    throw hasTsx ? whereTsxWrites(error) : needsTsx(file, error);
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
  const tsx = await import("tsx/esm/api").catch(() => undefined);
  if (!tsx) return false;
  await registered?.unregister();
  registered = { project, unregister: tsx.register(project === undefined ? {} : { tsconfig: project }) };
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

function needsTsx(file: string, error: unknown): unknown {
  const { code = "", url = "" } = Object(error) as NodeJS.ErrnoException & { readonly url?: string };
  // An import of `./a.js` that is `a.ts`.
  const isSource =
    code === "ERR_MODULE_NOT_FOUND" && url.endsWith("js") && existsSync(new URL(url.replace(/js$/, "ts")));
  return unread.test(code) || isSource
    ? new UsageError(`reading ${file} needs tsx; \`npm install --save-dev tsx\` installs it`)
    : error;
}

/** The tsconfig of the file's project, whatever folder the command runs in. */
function projectOf(file: string): string | undefined {
  const tsconfig = givenTsconfig ?? above(resolve(file), "tsconfig.json");
  // What tsx asks for CommonJS files.
  if (tsconfig === undefined) delete process.env["TSX_TSCONFIG_PATH"];
  else process.env["TSX_TSCONFIG_PATH"] = tsconfig;
  return tsconfig;
}

const givenTsconfig = process.env["TSX_TSCONFIG_PATH"];

/** The nearest file of this name in the folders above. */
export function above(path: string, name: string): string | undefined {
  const folder = dirname(path);
  const found = join(folder, name);
  return existsSync(found) ? found : folder === path ? undefined : above(folder, name);
}
