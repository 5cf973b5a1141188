/** Remote machines and clusters that run workers. Without one, workers run on this machine. */
import { type ProgramResult, type Ending, ProcessGroup } from "../system/processes.js";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { delimiter, join } from "node:path";
import { isBundle, packageFolder } from "../system/files.js";

// Command lines and environments of Python processes: our package is first on the module path, and the current folder
// last.

/** The folder of the worker's package and its lock files. */
export const pythonFolder = join(packageFolder, isBundle ? "dist/python/" : "python/");

/** The environment of a Python that imports our package. */
export function pythonEnv(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const path = [pythonFolder, env["PYTHONPATH"]].filter(Boolean).join(delimiter);
  return { ...env, PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" };
}

/**
 * The arguments of a Python that runs a script. `-c` and `-m` put the current folder first on the module path, where a
 * user's `random.py` or `torch.py` would shadow the real module.
 */
export function pythonScript(lines: string): readonly string[] {
  return ["-c", `import sys\nif sys.path[:1] == [""]: sys.path.append(sys.path.pop(0))\n${lines}`];
}

/** The arguments of a Python that runs a module as a program. */
export function pythonModule(name: string, ...args: readonly string[]): readonly string[] {
  const run = `from runpy import run_module\nrun_module("${name}", run_name="__main__", alter_sys=True)`;
  return [...pythonScript(run), ...args];
}

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

// The transport of a worker process: sends and receives lines, locally or remotely.

export interface LinkOptions {
  /** The Python executable. */
  readonly python: string;
  readonly device: "auto" | "cuda" | "hip" | "interpreter" | "compiler";
  /** The index of the only visible GPU, among those that torch sees. Default: all are visible. */
  readonly gpu?: number | undefined;
  /** Environment variables of the process. Default: those of this process. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Lets this process end while the worker waits for a request. */
  readonly background?: boolean | undefined;
  /** Receives the output of the process. */
  readonly onPrinted: (text: string) => void;
}

export interface WorkerLink {
  /** The process id, on this machine. */
  readonly pid: number | undefined;
  /** Resolves when the process has ended; never rejects. */
  readonly completion: Promise<Ending>;
  /** The exit status, if known already. */
  readonly ending: Ending | undefined;
  /** The lines from the worker. */
  readonly lines: AsyncIterator<string> | undefined;
  send(line: string): void;
  /** Marks that the worker detects the end of this process itself. */
  markSelfWatching(): void;
  kill(): Promise<Ending>;
}

/** Time limit for reading the remaining lines of a dead process. */
export const DRAIN_MS = 1_000;

/** The arguments of a Python that runs the worker. `channel` is the file descriptor of its messages. */
export function workerArguments<Channel>(
  { device, gpu }: Pick<LinkOptions, "device" | "gpu">,
  channel: Channel,
): readonly (string | Channel)[] {
  const gpuArguments = gpu === undefined ? [] : ["--gpu", String(gpu)];
  return [...pythonModule("tilescript_worker", "--device", device, "--channel"), channel, ...gpuArguments];
}

/**
 * A worker on this machine. Messages use a separate channel, file descriptor 3, so Python's own output, including that
 * of `sitecustomize`, never mixes with them.
 */
export class LocalLink implements WorkerLink {
  readonly #group: ProcessGroup;
  readonly #channel: Duplex | undefined;
  readonly lines: AsyncIterator<string> | undefined;

  constructor({ python, env = process.env, background, onPrinted, ...worker }: LinkOptions) {
    const group = new ProcessGroup(python, workerArguments(worker, "3"), {
      env: pythonEnv(env),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#group = group;
    for (const stream of [group.child.stdout, group.child.stderr]) stream?.setEncoding("utf8").on("data", onPrinted);
    const channel = group.child.stdio[3] as Duplex | null | undefined;
    if (channel) {
      // The exit of the process is handled separately; a write error is only its consequence.
      channel.on("error", () => undefined);
      this.#channel = channel;
      const lines = createInterface({ input: channel });
      this.lines = lines[Symbol.asyncIterator]();
      // Another process may still hold the other end of the channel, so it is closed here.
      void group.completion.then(() => sleep(DRAIN_MS, undefined, { ref: false })).then(() => lines.close());
    }
    // While a request runs, the timer of its deadline keeps this process alive.
    if (background)
      for (const handle of [group.child, ...group.child.stdio]) (handle as { unref?: () => void } | null)?.unref?.();
  }

  get pid(): number | undefined {
    return this.#group.pid;
  }

  get completion(): Promise<Ending> {
    return this.#group.completion;
  }

  get ending(): Ending | undefined {
    return this.#group.ending;
  }

  send(line: string): void {
    this.#channel?.write(`${line}\n`);
  }

  markSelfWatching(): void {
    this.#group.markSelfWatching();
  }

  kill(): Promise<Ending> {
    return this.#group.kill();
  }
}
