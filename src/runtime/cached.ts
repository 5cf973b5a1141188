/** Results that outlive a run, a JSON file each. */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname } from "node:path";

export async function readCached<T>(file: string): Promise<T | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as T;
  } catch {
    return undefined;
  }
}

export async function writeCached(file: string, result: unknown): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.${process.pid}`, JSON.stringify(result));
    await rename(`${file}.${process.pid}`, file);
  } catch {
    // A home that can't be written to only costs time.
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
