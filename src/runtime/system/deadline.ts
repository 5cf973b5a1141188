/** Waiting, but not for ever. */
import { setTimeout as sleep } from "node:timers/promises";

/** Timers of more milliseconds than this fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

/** What the promise gives, or `late` if it gives nothing before the deadline. */
export async function withDeadline<T>(promise: T | Promise<T>, deadlineMs: number): Promise<T | "late"> {
  const timer = new AbortController();
  const late = sleep(Math.min(deadlineMs, LONGEST_MS), "late" as const, { signal: timer.signal });
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
  }
}
