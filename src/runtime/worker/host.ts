/** Where workers run. Where nothing is named, they run on this machine. */
import type { ProgramResult } from "../system/run-program.js";
import type { LinkOptions, WorkerLink } from "./worker-link.js";

/** What runs workers elsewhere: another machine, or a cluster of them. */
export interface Remote {
  /** The machine or the cluster in messages. */
  readonly name: string;
  /** Why it can't be reached any more. */
  readonly lost: string | undefined;
  /** Writes a file into a folder of its own there, which goes with `remove` or with the connection. */
  place(name: string, text: string): Promise<Placed>;
  close(): Promise<void>;
}

export interface Host extends Remote {
  /** The name on the command line: `ssh:box`. */
  readonly device: string;
  /** Cores there, and the operating system as Python calls it. */
  readonly cores: number;
  readonly platform: string;
  /** The home folder there, and the environment variables that say where Python and caches are. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /** The command line of a shell here that runs another there, which is its last word; and one that copies a folder. */
  readonly shell: readonly string[];
  copy(folder: string): readonly string[];
  startWorker(options: LinkOptions): WorkerLink;
  /** Runs a program without standard input. Throws EnvironmentError if the connection is lost. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  exists(path: string): Promise<boolean>;
  /** Asks the agent there for something else that it does: `python/tilescript_worker/agent.py` lists it. */
  ask<T>(message: { readonly do: string } & Readonly<Record<string, unknown>>): Promise<T>;
  /** The worker's files there: `verify_kernel.py`, `requirements.lock` and the package. */
  readonly folder: string;
}

/** Whether it is one machine, where programs and files may be placed. */
export const isHost = (remote: Remote): remote is Host => "ask" in remote;

export interface RunOptions {
  /** Environment variables besides those there. */
  readonly env?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly onOutput?: (text: string) => void;
}

export interface Placed {
  readonly path: string;
  remove(): Promise<void>;
}
