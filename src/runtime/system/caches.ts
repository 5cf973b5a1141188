/**
 * The cache folders of this package: one per user, with one Python environment per lock file; and caches of results.
 */
import { createHash } from "node:crypto";
import { readFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { readFile } from "node:fs/promises";
import { replaceFile } from "./files.js";
import { deserialize, serialize } from "node:v8";
import type { CachedProof, ProofCache } from "../../compiled/compiled-kernel.js";

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
