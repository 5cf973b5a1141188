/** A cache of results between runs, with one JSON file per result. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { replaceFile } from "./files.js";

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
