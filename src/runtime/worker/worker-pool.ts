/** Workers on equal devices. Each request goes to one that is free. */
import type { Reply, WorkerRequest } from "./protocol.js";

/** Whoever answers requests: a worker's process, or an actor of a cluster. */
export interface RequestServer {
  /** Its process on this machine, if there is one. */
  readonly pid?: number | undefined;
  /**
   * Sends a request and waits for its reply, at most `deadlineMs` from when those before are done. Never rejects for
   * what Python does.
   */
  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>>;
  /** Ends what it does. It can be used again. */
  stop(): Promise<void>;
}

/** A worker, with its device's name where several devices work. */
export interface Member {
  readonly worker: RequestServer;
  readonly place?: string;
}

/** Requests that a worker has at hand: the one that it works on, and the next. */
export const QUEUE_DEPTH = 2;

/** Places that are given to whoever asks first. */
class Queue {
  readonly #free: Member[];
  readonly #waiting: ((member: Member) => void)[] = [];

  constructor(free: readonly Member[]) {
    this.#free = [...free];
  }

  async give<T>(use: (member: Member) => Promise<T>): Promise<T> {
    const member = this.#free.shift() ?? (await new Promise<Member>((resolve) => this.#waiting.push(resolve)));
    try {
      return await use(member);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(member);
      else this.#free.push(member);
    }
  }
}

export class WorkerPool {
  readonly members: readonly Member[];
  readonly #alone: Queue;
  readonly #shared: Queue;

  constructor(members: readonly Member[]) {
    this.members = members;
    this.#alone = new Queue(members);
    this.#shared = new Queue(Array.from({ length: QUEUE_DEPTH }, () => members).flat());
  }

  get size(): number {
    return this.members.length;
  }

  /** The names of several devices, such as `cuda:0` and `cuda:1`; none of a single one. */
  get places(): readonly string[] {
    return this.members.flatMap(({ place }) => place ?? []);
  }

  /** Gives `use` a worker that nobody else has meanwhile. Whoever asks first is served first. */
  lease<T>(use: (member: Member) => Promise<T>): Promise<T> {
    return this.#alone.give(use);
  }

  /**
   * Gives `use` a worker for one request, while it may work on another's: so it goes on at once, however long this
   * process takes to read the reply. Nothing is measured meanwhile.
   */
  share<T>(use: (member: Member) => Promise<T>): Promise<T> {
    return this.#shared.give(use);
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
