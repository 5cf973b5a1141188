/** A pool of Python processes that compile. They start on demand and stay for later jobs. */
import { availableParallelism, freemem } from "node:os";
import { Worker, type WorkerOptions } from "./worker.js";

export interface CompilersOptions extends Omit<WorkerOptions, "device"> {
  /**
   * Maximum number of processes. Default: the number of cores, up to 32, if each has a gigabyte of memory for torch and
   * LLVM.
   */
  readonly processes?: number | undefined;
}

export const MAX_PROCESSES = 32;

/** The memory of a process while LLVM compiles. */
const PROCESS_BYTES = 2 ** 30;

export class Compilers {
  readonly #options: Omit<WorkerOptions, "device">;
  readonly #workers: Worker[] = [];
  readonly #maxProcesses: number;

  constructor({ processes, ...options }: CompilersOptions) {
    this.#options = options;
    this.#maxProcesses = processes ?? defaultProcesses(options.host);
  }

  /** The number of processes started so far. */
  get startedCount(): number {
    return this.#workers.length;
  }

  /** Runs each job in the next free process. A process that dies is replaced for the next job. */
  async forEach<Job>(jobs: readonly Job[], work: (worker: Worker, job: Job) => Promise<void>): Promise<void> {
    const queue = [...jobs];
    const count = Math.min(jobs.length, Math.max(1, this.#maxProcesses));
    while (this.#workers.length < count) this.#workers.push(new Worker({ ...this.#options, device: "compiler" }));
    await Promise.all(
      this.#workers.slice(0, count).map(async (worker) => {
        for (let job = queue.shift(); job !== undefined; job = queue.shift()) await work(worker, job);
      }),
    );
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }
}

/** For another machine, whose memory is unknown, at most half of the maximum. */
function defaultProcesses(host: CompilersOptions["host"]): number {
  if (host) return Math.min(host.cores, MAX_PROCESSES / 2);
  return Math.max(1, Math.min(availableParallelism(), MAX_PROCESSES, Math.floor(freemem() / PROCESS_BYTES)));
}
