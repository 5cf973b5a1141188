/** Seconds that an import of a kernel takes: in Triton's compiler, in the user's script, and in what is ours. */
import { performance } from "node:perf_hooks";
import type { MatchResult, Reply, Spent, WorkerRequest } from "../src/runtime/worker/protocol.js";
import { Worker } from "../src/runtime/worker/worker.js";

/** Seconds of one processor, but for `wall`. */
export interface ImportSeconds {
  readonly wall: number;
  readonly triton: number;
  readonly own: number;
}

/** A worker that adds up what its replies say of comparisons. */
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

  /** What work takes here and in this worker, beside what reading the kernel took. */
  async seconds<T>(read: Spent | undefined, work: () => Promise<T>): Promise<readonly [T, ImportSeconds]> {
    const [triton, own, wall, cpu] = [this.#triton, this.#own, performance.now(), process.cpuUsage()];
    const done = await work();
    const { user, system } = process.cpuUsage(cpu);
    const reading = read ?? { triton: 0, own: 0 };
    const here = (user + system) / 1e6;
    const seconds = {
      wall: (performance.now() - wall) / 1000 + reading.triton + reading.own,
      triton: this.#triton - triton + reading.triton,
      own: this.#own - own + reading.own + here,
    };
    return [done, seconds];
  }
}

/** The seconds of many kernels, each number by its place. */
export type Columns = Readonly<Record<keyof ImportSeconds, readonly number[]>>;

export const columns = (times: readonly ImportSeconds[]): Columns => ({
  wall: times.map(({ wall }) => hundredths(wall)),
  triton: times.map(({ triton }) => hundredths(triton)),
  own: times.map(({ own }) => hundredths(own)),
});

const hundredths = (seconds: number): number => Math.round(seconds * 100) / 100;

export const median = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;

/** How many seconds an import may take. */
export const MOST_SECONDS = 3;

export function secondsText(of: string, times: readonly ImportSeconds[]): string {
  const { wall, triton, own } = columns(times);
  const slow = wall.filter((each) => each > MOST_SECONDS).length;
  const each = `${median(wall)} s, of Triton ${median(triton)} s and ours ${median(own)} s`;
  return `${of}: median ${each}; most ${Math.max(0, ...wall)} s; ${slow} of ${wall.length} above ${MOST_SECONDS} s`;
}
