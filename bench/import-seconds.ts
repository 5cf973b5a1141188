/** The duration of a kernel's import: in Triton's compiler, in the user's script, and in our code. */
import { performance } from "node:perf_hooks";
import type { MatchResult, Reply, Spent, WorkerRequest } from "../src/runtime/worker/protocol.js";
import { Worker } from "../src/runtime/worker/worker.js";

/** Seconds of CPU, except `wall`. */
export interface ImportSeconds {
  readonly wall: number;
  readonly triton: number;
  readonly own: number;
}

/** A worker that adds up the times reported for comparisons. */
export class MeteredWorker extends Worker {
  #triton = 0;
  #own = 0;

  override async request<Request extends WorkerRequest>(
    request: Request,
    deadlineMs: number,
  ): Promise<Reply<Request["type"]>> {
    const reply = await super.request(request, deadlineMs);
    if (reply.ok && request.type === "match") {
      const { triton, own } = (reply.result as MatchResult).spent;
      this.#triton += triton;
      this.#own += own;
    }
    return reply;
  }

  /** Measures work in this process and in the worker, and adds the time of reading the kernel. */
  async seconds<T>(read: Spent | undefined, work: () => Promise<T>): Promise<readonly [T, ImportSeconds]> {
    const [triton, own, wall, cpu] = [this.#triton, this.#own, performance.now(), process.cpuUsage()];
    const result = await work();
    const { user, system } = process.cpuUsage(cpu);
    const reading = read ?? { triton: 0, own: 0 };
    const hereSeconds = (user + system) / 1e6;
    const seconds = {
      wall: (performance.now() - wall) / 1000 + reading.triton + reading.own,
      triton: this.#triton - triton + reading.triton,
      own: this.#own - own + reading.own + hereSeconds,
    };
    return [result, seconds];
  }
}

/** The seconds of many kernels, in the same order in each column. */
export type Columns = Readonly<Record<keyof ImportSeconds, readonly number[]>>;

export const columns = (times: readonly ImportSeconds[]): Columns => ({
  wall: times.map(({ wall }) => hundredths(wall)),
  triton: times.map(({ triton }) => hundredths(triton)),
  own: times.map(({ own }) => hundredths(own)),
});

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/** The limit on the duration of an import, in seconds. */
export const MOST_SECONDS = 3;

export function secondsText(label: string, times: readonly ImportSeconds[]): string {
  const { wall, triton, own } = columns(times);
  const slowCount = wall.filter((each) => each > MOST_SECONDS).length;
  const medians = `${median(wall)} s, of Triton ${median(triton)} s and ours ${median(own)} s`;
  return `${label}: median ${medians}; most ${Math.max(0, ...wall)} s; ${slowCount} of ${wall.length} above ${MOST_SECONDS} s`;
}
