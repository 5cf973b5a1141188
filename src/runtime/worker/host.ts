/** Remote machines and clusters that run workers. Without one, workers run on this machine. */
import type { ProgramResult } from "../system/run-program.js";
import type { LinkOptions, WorkerLink } from "./worker-link.js";

/** A machine or a cluster that runs workers. */
export interface Remote {
  /** The name in messages. */
  readonly name: string;
  /** The reason why the connection was lost; undefined while it is open. */
  readonly lossReason: string | undefined;
  /** Writes a file into a new folder on the remote side. `remove` or the end of the connection deletes it. */
  upload(name: string, text: string): Promise<UploadedFile>;
  close(): Promise<void>;
}

export interface Host extends Remote {
  /** The name on the command line: `ssh:box`. */
  readonly device: string;
  /** Its number of cores, and its operating system by Python's name. */
  readonly cores: number;
  readonly platform: string;
  /** Its home folder, and the environment variables with the locations of Python and caches. */
  readonly home: string;
  readonly env: NodeJS.ProcessEnv;
  /**
   * A local command line that runs a shell command there, given as its last word; and one that copies a folder from
   * there.
   */
  readonly shell: readonly string[];
  copy(folder: string): readonly string[];
  startWorker(options: LinkOptions): WorkerLink;
  /** Runs a program without standard input. Throws EnvironmentError if the connection is lost. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<ProgramResult>;
  exists(path: string): Promise<boolean>;
  /** Sends another request to the agent. `python/tilescript_worker/agent.py` lists them. */
  ask<T>(message: { readonly do: string } & Readonly<Record<string, unknown>>): Promise<T>;
  /** The folder of the worker's files: `verify_kernel.py`, `requirements.lock` and the package. */
  readonly folder: string;
}

/** True for a single machine, which can run programs and hold files. */
export const isHost = (remote: Remote): remote is Host => "ask" in remote;

export interface RunOptions {
  /** Additional environment variables. */
  readonly env?: Readonly<Record<string, string>>;
  readonly deadlineMs: number;
  readonly onOutput?: (text: string) => void;
}

export interface UploadedFile {
  readonly path: string;
  remove(): Promise<void>;
}
