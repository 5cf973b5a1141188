/** Workers on equal devices. Each request goes to one that is free. */
import type { Reply, WorkerRequest } from "./protocol.js";
import type { Worker } from "./worker.js";

/** A worker, with its device's name where several devices work. */
export interface Member {
  readonly worker: Worker;
  readonly place?: string;
}

export class WorkerPool {
  readonly members: readonly Member[];
  readonly #free: Member[];
  readonly #waiting: ((member: Member) => void)[] = [];

  constructor(members: readonly Member[]) {
    this.members = members;
    this.#free = [...members];
  }

  get size(): number {
    return this.members.length;
  }

  /** The names of several devices, such as `cuda:0` and `cuda:1`; none of a single one. */
  get places(): readonly string[] {
    return this.members.flatMap(({ place }) => place ?? []);
  }

  /** Gives `use` a worker that nobody else has meanwhile. Whoever asks first is served first. */
  async lease<T>(use: (member: Member) => Promise<T>): Promise<T> {
    const member = this.#free.shift() ?? (await new Promise<Member>((resolve) => this.#waiting.push(resolve)));
    try {
      return await use(member);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(member);
      else this.#free.push(member);
    }
  }

  /** Works on each item with a worker of its own, as many at a time as there are. Results are in the items' order. */
  each<Item, T>(items: readonly Item[], work: (item: Item, member: Member) => Promise<T>): Promise<T[]> {
    return Promise.all(items.map((item) => this.lease((member) => work(item, member))));
  }

  /** Sends a request to a free worker. Never rejects for what Python does. */
  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>> {
    return this.lease(({ worker }) => worker.request(request, deadlineMs));
  }

  /** Ends the processes. */
  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ worker }) => worker.stop()));
  }
}
