/** Atomic file writes. */
import { access, constants, lstat, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { EnvironmentError } from "./errors.js";

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
