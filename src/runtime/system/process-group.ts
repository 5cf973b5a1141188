/** Other programs: each leads a group, so that it ends with all that it started, and not later than this process. */
import { type ChildProcess, spawn, type StdioOptions } from "node:child_process";

export interface GroupOptions {
  /** The whole environment. */
  readonly env: NodeJS.ProcessEnv;
  readonly stdio: StdioOptions;
}

/** How a process ended, or why it never started. */
export interface Ending {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The system's code, such as ENOENT, if it could not be started. */
  readonly unstarted?: string;
  /** Why nothing more is known of it: the connection to its machine was lost. */
  readonly lost?: string;
}

/** Signals that end this process without its `exit` event. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Groups to end when this process ends, and those of them that can't notice by themselves that a signal ended it. */
const running = new Set<Group>();
const watched = new Set<Group>();

/** A program and everything that it starts. */
export class Group {
  /** Undefined if the system refused to start it. */
  readonly child: ChildProcess | undefined;
  /** Resolves when the program itself has ended; never rejects. */
  readonly ended: Promise<Ending>;
  #ending: Ending | undefined;

  constructor(command: string, args: readonly string[], { env, stdio }: GroupOptions) {
    // First, since a signal that comes while the program starts would end this process alone.
    running.add(this);
    watched.add(this);
    if (watched.size === 1) for (const signal of SIGNALS) process.on(signal, onSignal);
    let refused: unknown;
    try {
      this.child = spawn(command, args, { env, stdio, detached: true, windowsHide: true });
    } catch (error) {
      refused = error;
    }
    this.ended = new Promise<Ending>((resolve) => {
      const unstarted = (error: unknown): void =>
        resolve({ exitCode: null, signal: null, unstarted: (error as NodeJS.ErrnoException).code ?? String(error) });
      if (!this.child) unstarted(refused);
      this.child?.once("error", unstarted).once("exit", (exitCode, signal) => resolve({ exitCode, signal }));
    }).then((ending) => {
      // What it started may still run, and hold its streams open.
      this.#signal();
      this.#ending = ending;
      this.#forget();
      return ending;
    });
  }

  get pid(): number | undefined {
    return this.child?.pid;
  }

  /** How it ended, if this process knows already. */
  get ending(): Ending | undefined {
    return this.#ending;
  }

  /** From now on it watches by itself whether this process still runs. Handlers of signals need an idle event loop. */
  watchesItself(): void {
    if (watched.delete(this) && watched.size === 0) for (const signal of SIGNALS) process.off(signal, onSignal);
  }

  /** Ends the whole group. What it has written is lost if nobody has read it. */
  kill(): Promise<Ending> {
    if (!this.#ending) this.#signal();
    for (const stream of this.child?.stdio ?? []) stream?.destroy();
    return this.ended;
  }

  /** Sends SIGKILL, since a program may ignore the rest. */
  #signal(): void {
    if (this.pid === undefined) return;
    try {
      process.kill(process.platform === "win32" ? this.pid : -this.pid, "SIGKILL");
    } catch {
      // It has ended already.
    }
  }

  #forget(): void {
    running.delete(this);
    this.watchesItself();
  }
}

process.on("exit", () => {
  for (const group of running) void group.kill();
});

function onSignal(signal: NodeJS.Signals): void {
  // A program that handles the signal decides itself whether it ends.
  if (process.listenerCount(signal) > 1) return;
  for (const group of watched) void group.kill();
  for (const each of SIGNALS) process.off(each, onSignal);
  process.kill(process.pid, signal);
}
