/** A lock file with the id of its holder, so that a dead process does not block others. */
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 300;
/** A process writes its id right after creating the lock. A lock that stays empty longer belongs to a dead process. */
const UNNAMED_MS = 3_000;

/**
 * Waits until this process holds the lock. Calls `onWait` once with the holder's id. Returns a function that releases
 * the lock.
 */
export async function acquireLock(path: string, onWait: (pid: number) => void): Promise<() => Promise<void>> {
  let isWaiting = false;
  // File times are unreliable if the system clock was set, so the lock's age is measured here.
  const emptySince = { since: performance.now(), stamp: -1 };
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
        // On a full disk, the file is created without content.
        await rm(path, { force: true });
        throw error;
      }
    }
    const pid = Number(await readFile(path, "utf8").catch(() => ""));
    if (pid > 0 ? !isRunning(pid) : await isEmptyForLong(path, emptySince)) {
      await removeStale(path, pid);
      continue;
    }
    if (pid > 0 && !isWaiting) {
      isWaiting = true;
      onWait(pid);
    }
    await sleep(POLL_MS);
  }
}

/** True if this lock file has stayed empty for longer than {@link UNNAMED_MS}. */
async function isEmptyForLong(path: string, observation: { since: number; stamp: number }): Promise<boolean> {
  const stamp = (await stat(path).catch(() => undefined))?.mtimeMs;
  if (stamp === undefined) return false;
  if (stamp !== observation.stamp) Object.assign(observation, { since: performance.now(), stamp });
  return performance.now() - observation.since > UNNAMED_MS;
}

/** Removes the lock of a dead holder. Several waiters may try this; the one whose rename succeeds removes the lock. */
async function removeStale(path: string, pid: number): Promise<void> {
  const movedPath = `${path}.${process.pid}`;
  try {
    await rename(path, movedPath);
  } catch {
    return;
  }
  if (Number(await readFile(movedPath, "utf8")) === pid) await rm(movedPath, { force: true });
  else await rename(movedPath, path);
}

/** True if a process with this id runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
