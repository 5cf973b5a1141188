/** A worker's process as a sender and receiver of lines, on this machine or on another. */
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { type Ending, Group } from "../system/process-group.js";
import { pythonEnv, pythonModule } from "./start-python.js";

export interface LinkOptions {
  /** The Python executable. */
  readonly python: string;
  readonly device: "auto" | "cuda" | "hip" | "interpreter" | "compiler";
  /** The index of its only GPU, among those that torch sees. Default: torch sees them all. */
  readonly gpu?: number | undefined;
  /** Environment variables of the process; this process's by default. */
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Lets this process end while the worker waits for a request. */
  readonly background?: boolean | undefined;
  /** Receives what the process prints. */
  readonly onPrinted: (text: string) => void;
}

export interface WorkerLink {
  /** The process id, on this machine. */
  readonly pid: number | undefined;
  /** Resolves when the process has ended; never rejects. */
  readonly ended: Promise<Ending>;
  /** How it ended, if that is known already. */
  readonly ending: Ending | undefined;
  /** The lines that it sends. */
  readonly lines: AsyncIterator<string> | undefined;
  send(line: string): void;
  /** From now on it watches by itself whether this process still runs. */
  watchesItself(): void;
  kill(): Promise<Ending>;
}

/** What a dead process has sent is read within this time. */
export const REST_MS = 1_000;

/** The arguments of a Python that runs the worker; `channel` stands for the file descriptor of its messages. */
export function workerArguments<Channel>(
  { device, gpu }: Pick<LinkOptions, "device" | "gpu">,
  channel: Channel,
): readonly (string | Channel)[] {
  const only = gpu === undefined ? [] : ["--gpu", String(gpu)];
  return [...pythonModule("tilescript_worker", "--device", device, "--channel"), channel, ...only];
}

/**
 * A worker on this machine. Messages have a channel of their own, file descriptor 3. So whatever Python prints, from its
 * first line of `sitecustomize` on, is no part of them.
 */
export class LocalLink implements WorkerLink {
  readonly #group: Group;
  readonly #channel: Duplex | undefined;
  readonly lines: AsyncIterator<string> | undefined;

  constructor({ python, env = process.env, background, onPrinted, ...worker }: LinkOptions) {
    const group = new Group(python, workerArguments(worker, "3"), {
      env: pythonEnv(env),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#group = group;
    for (const stream of [group.child?.stdout, group.child?.stderr]) stream?.setEncoding("utf8").on("data", onPrinted);
    const channel = group.child?.stdio[3] as Duplex | null | undefined;
    if (channel) {
      // The end of the process is what counts; an error of writing to it is a consequence.
      channel.on("error", () => undefined);
      this.#channel = channel;
      const lines = createInterface({ input: channel });
      this.lines = lines[Symbol.asyncIterator]();
      // Whoever still holds the other end of the channel then is not the worker.
      void group.ended.then(() => sleep(REST_MS, undefined, { ref: false })).then(() => lines.close());
    }
    // While a request runs, the timer of its deadline keeps this process alive.
    if (background)
      for (const held of [group.child, ...(group.child?.stdio ?? [])])
        (held as { unref?: () => void } | null)?.unref?.();
  }

  get pid(): number | undefined {
    return this.#group.pid;
  }

  get ended(): Promise<Ending> {
    return this.#group.ended;
  }

  get ending(): Ending | undefined {
    return this.#group.ending;
  }

  send(line: string): void {
    this.#channel?.write(`${line}\n`);
  }

  watchesItself(): void {
    this.#group.watchesItself();
  }

  kill(): Promise<Ending> {
    return this.#group.kill();
  }
}
