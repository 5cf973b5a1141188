/** The transport of a worker process: sends and receives lines, locally or remotely. */
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Ending, ProcessGroup } from "../system/process-group.js";
import { pythonEnv, pythonModule } from "./start-python.js";

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
