/** Waits for the effects of other processes. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Resolves to true once the process has ended, or to false after a time limit with room for a busy machine. */
export async function hasExited(pid: number): Promise<boolean> {
  for (let elapsedMs = 0; elapsedMs < 20_000; elapsedMs += 50) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    if (await isZombie(pid)) return true;
    await sleep(50);
  }
  return false;
}

/** True for a process that has ended but that its parent has not reaped. Linux still lists its id. */
async function isZombie(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return / Z /.test(stat.slice(stat.lastIndexOf(")")));
}

/** Waits until a file that another process writes has content. */
export async function waitForContent(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text) return text;
    await sleep(20);
  }
}
