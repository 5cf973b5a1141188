/** The durations of the parts of a run. */

/** Seconds of the cases of a kernel. */
export interface Durations {
  /** Waiting until the kernels of the next case are compiled. */
  readonly waiting: number;
  /** Running the kernel and the reference on the device. */
  readonly device: number;
  /** Checking the algorithm on the evaluator. */
  readonly evaluator: number;
  /** Calling the wrapper with an empty cache and the autotuner. */
  readonly firstCall: number;
}

/** Sums the time of each kind of work. */
export class Stopwatch {
  readonly #ms = { waiting: 0, device: 0, evaluator: 0, firstCall: 0 };

  async measure<Result>(name: keyof Durations, work: Promise<Result>): Promise<Result> {
    const start = performance.now();
    try {
      return await work;
    } finally {
      this.#ms[name] += performance.now() - start;
    }
  }

  measureSync<Result>(name: keyof Durations, work: () => Result): Result {
    const start = performance.now();
    const result = work();
    this.#ms[name] += performance.now() - start;
    return result;
  }

  get seconds(): Durations {
    const { waiting, device, evaluator, firstCall } = this.#ms;
    const rounded = (ms: number): number => Math.round(ms) / 1000;
    return {
      waiting: rounded(waiting),
      device: rounded(device),
      evaluator: rounded(evaluator),
      firstCall: rounded(firstCall),
    };
  }
}
