/** What tests of processes wait for. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a process ends within so many seconds as a busy machine may need. */
export async function hasExited(pid: number): Promise<boolean> {
  for (let waited = 0; waited < 20_000; waited += 50) {
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

/** Whether a process has ended, and the one that adopted it has not asked for it yet: Linux still knows its number. */
async function isZombie(pid: number): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => "");
  return / Z /.test(stat.slice(stat.lastIndexOf(")")));
}

/** The text of a file that another process writes, as soon as there is some. */
export async function contentOf(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text) return text;
    await sleep(20);
  }
}
