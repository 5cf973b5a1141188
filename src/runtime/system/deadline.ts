/** Promises with a timeout. */
import { setTimeout as sleep } from "node:timers/promises";

/** Node fires timers with a longer delay at once. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;

/** Resolves to the promise's result, or to `late` at the deadline. */
export async function withDeadline<T>(promise: T | Promise<T>, deadlineMs: number): Promise<T | "late"> {
  const timer = new AbortController();
  const timeout = sleep(Math.min(deadlineMs, MAX_TIMEOUT_MS), "late" as const, { signal: timer.signal });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    timer.abort();
  }
}
