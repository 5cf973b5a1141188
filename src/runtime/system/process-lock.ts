/** A lock file that names the process that holds it, so that a dead holder does not block anyone. */
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 300;
/** Who makes a lock writes its name at once; one that is empty for longer is of a process that died between. */
const UNNAMED_MS = 3_000;

/** Waits until the lock is ours; `onWait` hears once who holds it. The result gives it back. */
export async function acquireLock(path: string, onWait: (pid: number) => void): Promise<() => Promise<void>> {
  let waiting = false;
  for (;;) {
    try {
      await writeFile(path, String(process.pid), { flag: "wx" });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") {
        // A full disk takes the file without its content.
        await rm(path, { force: true });
        throw error;
      }
    }
    const pid = Number(await readFile(path, "utf8").catch(() => ""));
    if (pid > 0 ? !alive(pid) : await isOld(path)) {
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

async function isOld(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found !== undefined && Date.now() - found.mtimeMs > UNNAMED_MS;
}

/** Two waiters may both see the dead holder: only who moves that very file away has removed it. */
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

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
