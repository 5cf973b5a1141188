/** Results that outlive a run, a JSON file each. */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { replaceFile } from "./files.js";

export async function readCached<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

export async function writeCached(file: string, result: unknown): Promise<void> {
  try {
    await replaceFile(file, JSON.stringify(result));
  } catch {
    // A home that can't be written to, or is full, only costs time.
  }
}

/** A name for what a result depends on. */
export function keyOfText(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

/** A module but for its list of configs. */
export function withoutConfigs(python: string): string {
  return python.replace(/^@triton\.autotune\([^]*?^\)\n/m, "");
}
