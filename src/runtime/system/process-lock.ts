/** A lock file with the id of the process that holds it, so that a dead process does not block others. */
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 300;
/** A process writes its id right after creating the lock. A lock that stays empty longer belongs to a dead process. */
const UNNAMED_MS = 3_000;

/**
 * Waits until the lock is ours. `onWait` is called once with the holder's id. Returns a function that releases the
 * lock.
 */
export async function acquireLock(path: string, onWait: (pid: number) => void): Promise<() => Promise<void>> {
  let waiting = false;
  // A clock that was set tells nothing about a file's age.
  const unnamed = { since: performance.now(), stamp: -1 };
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
        // On a full disk, the file is created without its content.
        await rm(path, { force: true });
        throw error;
      }
    }
    const pid = Number(await readFile(path, "utf8").catch(() => ""));
    if (pid > 0 ? !isRunning(pid) : await staysEmpty(path, unnamed)) {
      await removeStale(path, pid);
      continue;
    }
    if (pid > 0 && !waiting) {
      waiting = true;
      onWait(pid);
    }
    await sleep(POLL_MS);
  }
}

/** Whether this same lock has had no name for long. */
async function staysEmpty(path: string, seen: { since: number; stamp: number }): Promise<boolean> {
  const stamp = (await stat(path).catch(() => undefined))?.mtimeMs;
  if (stamp === undefined) return false;
  if (stamp !== seen.stamp) Object.assign(seen, { since: performance.now(), stamp });
  return performance.now() - seen.since > UNNAMED_MS;
}

/** Two waiters may both see the dead holder, so the one that moves that very file away removes the lock. */
async function removeStale(path: string, pid: number): Promise<void> {
  const aside = `${path}.${process.pid}`;
  try {
    await rename(path, aside);
  } catch {
    return;
  }
  if (Number(await readFile(aside, "utf8")) === pid) await rm(aside, { force: true });
  else await rename(aside, path);
}

/** Whether a process of this number runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
