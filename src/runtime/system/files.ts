/** Files: atomic writes, the sources of kernels, and the folder of this package. */
import { access, constants, lstat, mkdir, rename, rm, stat, writeFile, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { EnvironmentError } from "./errors.js";
import { existsSync, readFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createHash } from "node:crypto";
import { homedir, tmpdir } from "node:os";
import { deserialize, serialize } from "node:v8";
import type { CachedProof, ProofCache } from "../../compiled/compiled-kernel.js";

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

// The cache folders of this package: one per user, with one Python environment per lock file; and caches of results.

/** `$XDG_CACHE_HOME/tilescript`, or `~/.cache/tilescript`. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  return join(env["XDG_CACHE_HOME"] || join(home, ".cache"), "tilescript");
}

/** The folder of a lock file's Python environment. */
export function environmentFolder(lock: string, env: NodeJS.ProcessEnv = process.env, home = homedir()): string {
  const hash = createHash("sha256").update(readFileSync(lock)).digest("hex").slice(0, 12);
  return join(cacheFolder(env, home), hash);
}

/** The Python executable of a virtual environment. */
export function venvPython(venv: string): string {
  return process.platform === "win32" ? join(venv, "Scripts", "python.exe") : join(venv, "bin", "python");
}

/** The file that `setup` writes last. An environment without it is incomplete. */
export function readyMarker(folder: string): string {
  return join(folder, "ready.json");
}

// A cache of results between runs, with one JSON file per result.

/** A result and its checksum. The cache ignores a file whose checksum does not match. */
interface CacheEntry {
  readonly key: string;
  readonly text: string;
}

export async function readCache<T>(file: string): Promise<T | undefined> {
  try {
    const { key, text } = JSON.parse(await readFile(file, "utf8")) as CacheEntry;
    return key === keyOfText(text) ? (JSON.parse(text) as T) : undefined;
  } catch {
    return undefined;
  }
}

export async function writeCached(file: string, result: unknown): Promise<void> {
  const text = JSON.stringify(result);
  try {
    await replaceFile(file, JSON.stringify({ key: keyOfText(text), text } satisfies CacheEntry));
  } catch {
    // The cache is optional: without it, the next run only takes longer.
  }
}

/** A cache key: the hash of a text with all inputs of the result. */
export function keyOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** The module's text without its configs, including those by GPU. */
export function withoutConfigs(python: string): string {
  return python.replace(/^@triton\.autotune\([^]*?^\)\n/m, "").replace(/^_configs\w* = \{(?:.*\}|[^]*?^\})\n/gm, "");
}

// The certificates that `check --watch` keeps between runs, in a temporary folder.

/** The environment variable that passes the folder to child processes of `--watch`. */
const FOLDER_VARIABLE = "TILESCRIPT_PROOFS";

/** Creates a folder for certificates, and the environment that passes it to child processes. */
export function createProofFolder(): { readonly folder: string; readonly env: Readonly<Record<string, string>> } {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-proofs-"));
  return { folder, env: { [FOLDER_VARIABLE]: folder } };
}

/** The cache of certificates; undefined without `--watch`. */
export function openProofCache(folder = process.env[FOLDER_VARIABLE]): ProofCache | undefined {
  if (!folder) return undefined;
  const pathOf = (text: string) => join(folder, createHash("sha256").update(text).digest("hex"));
  return {
    read(text) {
      try {
        return deserialize(readFileSync(pathOf(text))) as CachedProof;
      } catch {
        return undefined;
      }
    },
    write(text, proof) {
      // `--watch` may kill this process while it writes.
      const temporary = `${pathOf(text)}.${process.pid}`;
      try {
        writeFileSync(temporary, serialize(proof));
        renameSync(temporary, pathOf(text));
      } catch {
        // The disk is full or the folder is gone: the next run proves the kernel again.
        removeIfExists(temporary);
      }
    },
  };
}

function removeIfExists(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The folder is gone as well.
  }
}
