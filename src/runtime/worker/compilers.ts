/** Python processes that compile. They are started when there is work, and kept for more. */
import { availableParallelism } from "node:os";
import { Worker, type WorkerOptions } from "./worker.js";

export interface CompilersOptions extends Omit<WorkerOptions, "device"> {
  /**
   * Maximum number of processes. Default: the number of cores, up to 16, because each needs half a gigabyte for torch
   * and LLVM.
   */
  readonly processes?: number | undefined;
}

export const MOST_PROCESSES = 16;

export class Compilers {
  readonly #options: Omit<WorkerOptions, "device">;
  readonly #workers: Worker[] = [];
  readonly #most: number;

  constructor({ processes, ...options }: CompilersOptions) {
    this.#options = options;
    this.#most = processes ?? Math.min(options.host?.cores ?? availableParallelism(), MOST_PROCESSES);
  }

  /** The number of processes started so far. */
  get started(): number {
    return this.#workers.length;
  }

  /** Runs every job in the next free process. A process that dies is replaced for the next job. */
  async each<Job>(jobs: readonly Job[], work: (worker: Worker, job: Job) => Promise<void>): Promise<void> {
    const queue = [...jobs];
    const count = Math.min(jobs.length, Math.max(1, this.#most));
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
