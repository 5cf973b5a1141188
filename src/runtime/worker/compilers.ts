/** A pool of Python processes that compile. They start on demand and stay for later jobs. */
import { availableParallelism } from "node:os";
import { Worker, type WorkerOptions } from "./worker.js";

export interface CompilersOptions extends Omit<WorkerOptions, "device"> {
  /**
   * Maximum number of processes. Default: the number of cores, up to 16, because each needs half a gigabyte for torch
   * and LLVM.
   */
  readonly processes?: number | undefined;
}

export const MAX_PROCESSES = 16;

export class Compilers {
  readonly #options: Omit<WorkerOptions, "device">;
  readonly #workers: Worker[] = [];
  readonly #maxProcesses: number;

  constructor({ processes, ...options }: CompilersOptions) {
    this.#options = options;
    this.#maxProcesses = processes ?? Math.min(options.host?.cores ?? availableParallelism(), MAX_PROCESSES);
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
