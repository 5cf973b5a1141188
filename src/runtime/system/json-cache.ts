/** Results that are kept between runs, one JSON file each. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { replaceFile } from "./files.js";

/** A result beside the key of its text: a file that anything changed is not believed. */
interface Kept {
  readonly key: string;
  readonly text: string;
}

export async function readCache<T>(file: string): Promise<T | undefined> {
  try {
    const { key, text } = JSON.parse(await readFile(file, "utf8")) as Kept;
    return key === keyOfText(text) ? (JSON.parse(text) as T) : undefined;
  } catch {
    return undefined;
  }
}

export async function writeCached(file: string, result: unknown): Promise<void> {
  const text = JSON.stringify(result);
  try {
    await replaceFile(file, JSON.stringify({ key: keyOfText(text), text } satisfies Kept));
  } catch {
    // If the cache can't be written, the next run only takes longer.
  }
}

/** A name made from everything that a result depends on. */
export function keyOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** A module without its list of configs, or lists by GPU. */
export function withoutConfigs(python: string): string {
  return python.replace(/^@triton\.autotune\([^]*?^\)\n/m, "").replace(/^_configs\w* = \{(?:.*\}|[^]*?^\})\n/gm, "");
}
