/** Writing files completely or not at all. */
import { access, constants, lstat, mkdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { EnvironmentError } from "./errors.js";

type Content = string | Uint8Array;

let writes = 0;

/** Writes a file of ours and creates its folders. An old file stays until the new one is complete. */
export async function replaceFile(path: string, content: Content): Promise<void> {
  // Several of this process may write the file at once.
  const temporary = `${path}.${process.pid}-${writes++}`;
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
      (found) => found.isFile(),
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
    const there = await stat(path).catch(() => undefined);
    if (there?.isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
    if (there && !there.isFile()) return;
    await mkdir(dirname(path), { recursive: true });
    await access(dirname(path), constants.W_OK);
  } catch (error) {
    throw unwritable(path, error);
  }
}

function unwritable(path: string, error: unknown): EnvironmentError {
  return new EnvironmentError(writeProblem(path, (error as NodeJS.ErrnoException).code));
}

/** Why an output can't be written, and the remedy. */
export function writeProblem(place: string, code = ""): string {
  return `${place} can't be written (${code}): ${reasons[code] ?? "name another place"}`;
}

const full = "the disk is full; free some of it or name another place";
const forbidden = "choose a place where you have write permission";
const throughFile = "a part of the path is a file; name another";
const reasons: Readonly<Record<string, string>> = {
  ENOSPC: full,
  EDQUOT: full,
  EACCES: forbidden,
  EPERM: forbidden,
  EROFS: forbidden,
  EEXIST: throughFile,
  ENOTDIR: throughFile,
  EISDIR: "it is a folder; name a file in it",
};
