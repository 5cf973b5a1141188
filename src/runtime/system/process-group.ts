/**
 * Child processes that each lead a process group. A group ends with its leader, and at the latest with this process.
 */
import type { Options, Subprocess } from "execa";

let execa: typeof import("execa").execa;

/** Loads execa, before the first group. Commands that start no process, such as `check`, save its time. */
export async function loadExeca(): Promise<void> {
  ({ execa } = await import("execa"));
}

export interface GroupOptions {
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
