/** Child processes: programs with limits, groups that end together, timeouts and locks. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Options, Subprocess } from "execa";
import { readFile, rename, rm, stat, writeFile } from "node:fs/promises";

/** Quotes a shell word if necessary, for command lines that users copy. */
export function shellWord(text: string): string {
  return /^(?!~)[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export interface ProgramOptions {
  /** The complete environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Kills the program after this time. */
  readonly deadlineMs: number;
  /** Receives chunks of both streams. */
  readonly onOutput?: (text: string) => void;
}

export interface ProgramResult extends Ending {
  /** The end of the stream, up to 1 MiB. */
  readonly stdout: string;
  readonly stderr: string;
  /** True if the program was killed at the deadline. */
  readonly late: boolean;
}

const OUTPUT_LIMIT = 1 << 20;
/** Limit for reading the remaining output of a program that has ended. Its descendants may keep the streams open. */
const DRAIN_MS = 1_000;

/** Runs a program without standard input. Never rejects. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { env = process.env, deadlineMs, onOutput }: ProgramOptions,
): Promise<ProgramResult> {
  await loadExeca();
  const group = new ProcessGroup(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  const reads = (["stdout", "stderr"] as const).map(async (name) => {
    const stream = group.child[name];
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output[name] = (output[name] + text).slice(-OUTPUT_LIMIT);
      onOutput?.(text);
    });
    await new Promise((resolve) => (stream ? stream.once("close", resolve) : resolve(undefined)));
  });
  const late = (await withDeadline(group.completion, deadlineMs)) === "late";
  if (!late) await withDeadline(Promise.all(reads), DRAIN_MS);
  return { ...(await group.kill()), ...output, late };
}

/** The last line with a message. Python's report of a fatal error may end with a stack. */
export function lastLine(text: string): string | undefined {
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => /^\S.*[^:]$/.test(line)) ?? lines.at(-1))?.trim();
}

// Promises with a timeout.

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

// Child processes that each lead a process group. A group ends with its leader, and at the latest with this process.

let execa: typeof import("execa").execa;

/** Loads execa, before the first group. Commands that start no process, such as `check`, save its time. */
export async function loadExeca(): Promise<void> {
  ({ execa } = await import("execa"));
}

interface GroupOptions {
  /** The complete environment; nothing is inherited. */
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: NonNullable<Options["stdio"]>;
}

/** The exit status of a process, or the reason why there is none. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The system's error code, such as ENOENT, if the process could not be started. */
  readonly unstarted?: string;
  /** The reason why the exit status is unknown: the connection to the remote machine was lost. */
  readonly lost?: string;
}

/** Signals that end this process without an `exit` event. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Groups to kill when this process ends, and those among them that cannot detect the end of this process. */
const runningGroups = new Set<ProcessGroup>();
const watchedGroups = new Set<ProcessGroup>();

/** A process and all its descendants. */
export class ProcessGroup {
  readonly child: Pick<Subprocess, "stdin" | "stdout" | "stderr" | "stdio" | "pid" | "kill" | "unref">;
  /** Resolves when the leader has ended; never rejects. */
  readonly completion: Promise<Ending>;
  #ending: Ending | undefined;

  constructor(command: string, args: readonly string[], { env, stdio }: GroupOptions) {
    // Register first: a signal during `execa` would end this process alone.
    runningGroups.add(this);
    watchedGroups.add(this);
    if (watchedGroups.size === 1) for (const signal of SIGNALS) process.on(signal, onSignal);
    const child = execa(command, args, {
      env,
      extendEnv: false,
      stdio,
      detached: true,
      cleanup: false,
      buffer: false,
      reject: false,
    });
    this.child = child;
    this.completion = new Promise<Ending>((resolve) => {
      // execa's promise also waits for the streams, which descendants may hold open.
      child.once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
      void child.then(({ exitCode, signal, code, message }) => {
        if (exitCode === undefined && signal === undefined)
          resolve({ exitCode: null, signal: null, unstarted: code ?? String(message) });
      });
    }).then((ending) => {
      // Descendants may still run and keep the streams open.
      this.#signal();
      this.#ending = ending;
      this.#unregister();
      return ending;
    });
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  /** The exit status, if known already. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /**
   * Marks that the group detects the end of this process itself. Node handles signals only while its event loop is
   * idle.
   */
  markSelfWatching(): void {
    if (watchedGroups.delete(this) && watchedGroups.size === 0)
      for (const signal of SIGNALS) process.off(signal, onSignal);
  }

  /** Kills the whole group. Unread output is lost. */
  kill(): Promise<Ending> {
    if (!this.#ending) this.#signal();
    for (const stream of this.child.stdio) stream?.destroy();
    return this.completion;
  }

  /** Sends SIGKILL, because a program may ignore other signals. */
  #signal(): void {
    if (this.pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? this.pid : -this.pid, "SIGKILL");
    } catch {
      // The process has ended already.
    }
  }

  #unregister(): void {
    runningGroups.delete(this);
    this.markSelfWatching();
  }
}

process.on("exit", () => {
  for (const group of runningGroups) void group.kill();
});

function onSignal(signal: NodeJS.Signals): void {
  // Another handler is registered and decides whether the process ends.
  if (process.listenerCount(signal) > 1) return;
  for (const group of watchedGroups) void group.kill();
  for (const each of SIGNALS) process.off(each, onSignal);
  process.kill(process.pid, signal);
}

// A lock file with the id of its holder, so that a dead process does not block others.

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
