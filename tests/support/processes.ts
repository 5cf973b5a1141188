/** What tests of processes wait for. */
import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";

/** Whether a process ends within a few seconds. */
export async function isGone(pid: number): Promise<boolean> {
  for (let waited = 0; waited < 5_000; waited += 50) {
    try {
      process.kill(pid, 0);
    } catch {
      return true;
    }
    await sleep(50);
  }
  return false;
}

/** The text of a file that another process writes, as soon as there is some. */
export async function contentOf(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, "utf8").catch(() => "");
    if (text) return text;
    await sleep(20);
  }
}
