/** Files: atomic writes, the sources of kernels, and the folder of this package. */
import { access, constants, lstat, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { EnvironmentError } from "./errors.js";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

type Content = string | Uint8Array;

let writeCount = 0;

/** Writes a file of this package and creates its folders. An old file stays until the new one is complete. */
export async function replaceFile(path: string, content: Content): Promise<void> {
  // This process may write the same file concurrently.
  const temporary = `${path}.${process.pid}-${writeCount++}`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, content);
    await rename(temporary, path);
  } catch (error) {
    // A full disk leaves a truncated file.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/**
 * Writes an output of the user and creates its folders.
 *
 * @throws EnvironmentError with a remedy.
 */
export async function writeOutput(path: string, content: Content): Promise<void> {
  try {
    // Devices such as /dev/stdout are written directly, and links are followed.
    const isReplaced = await lstat(path).then(
      (info) => info.isFile(),
      () => true,
    );
    await (isReplaced ? replaceFile : writeFile)(path, content);
  } catch (error) {
    throw unwritable(path, error);
  }
}

/**
 * Creates the folders of an output before long work starts.
 *
 * @throws EnvironmentError with a remedy, before the work is done in vain.
 */
export async function checkOutput(path: string): Promise<void> {
  try {
    const info = await stat(path).catch(() => undefined);
    if (info?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (info && !info.isFile()) return;
    await mkdir(dirname(path), { recursive: true });
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): EnvironmentError {
  return new EnvironmentError(writeProblem(path, (error as NodeJS.ErrnoException).code));
}

/** The error message for an output that cannot be written, with its remedy. */
export function writeProblem(path: string, code = ""): string {
  return `${path} can't be written (${code}): ${reasons[code] ?? "name another place"}`;
}

const diskFull = "the disk is full; free some of it or name another place";
const permissionDenied = "choose a place where you have write permission";
const notADirectory = "a part of the path is a file; name another";
const reasons: Readonly<Record<string, string>> = {
  ENOSPC: diskFull,
  EDQUOT: diskFull,
  EACCES: permissionDenied,
  EPERM: permissionDenied,
  EROFS: permissionDenied,
  EEXIST: notADirectory,
  ENOTDIR: notADirectory,
  EISDIR: "it is a folder; name a file in it",
};

// The files of a kernel.

/** The files and their transitive relative imports. `texts` are read instead of the files on disk. */
export function sourcesOf(files: readonly string[], texts: Readonly<Record<string, string>> = {}): Set<string> {
  const sources = new Set<string>();
  const queue = files.map((file) => resolve(file));
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (sources.has(file) || !existsSync(file)) continue;
    sources.add(file);
    for (const [, path = ""] of (texts[file] ?? readFileSync(file, "utf8")).matchAll(
      /(?:from|import\(?)\s*["'](\.{1,2}\/[^"']+)["']/g,
    )) {
      const imported = join(dirname(file), path);
      queue.push(imported, imported.replace(/\.([cm]?)js$/, ".$1ts"), `${imported}.ts`);
    }
  }
  return sources;
}

// The location of this package. It may run from its sources, from compiled modules, or from the bundle on npm.

/** The nearest file of this name in the folder of `path` or above. */
export function findUp(path: string, name: string): string | undefined {
  const folder = dirname(path);
  const candidate = join(folder, name);
  if (existsSync(candidate)) return candidate;
  return folder === path ? undefined : findUp(folder, name);
}

const currentFile = fileURLToPath(import.meta.url);
const manifest = findUp(currentFile, "package.json");
if (manifest === undefined) throw new Error(`${currentFile} is not in its package; install tilescript again`);

export const packageFolder = dirname(manifest);

/** `homepage` is the address of the documentation, if it has one. */
export const { version, homepage } = JSON.parse(readFileSync(manifest, "utf8")) as {
  readonly version: string;
  readonly homepage?: string;
};

/** True in the bundle of the npm package: its modules and its Python files are in `dist`. */
export const isBundle = /[\\/]tilescript-modules[\\/]/.test(currentFile);
