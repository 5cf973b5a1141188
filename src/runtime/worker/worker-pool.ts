/** A pool of workers on equal devices. Each request goes to a free worker. */
import type { Reply, WorkerRequest } from "./protocol.js";

/** A server of requests: a worker process, or an actor of a Ray cluster. */
export interface RequestServer {
  /** Its process id, if it is a process on this machine. */
  readonly pid?: number | undefined;
  /**
   * Sends a request and waits for its reply, for at most `deadlineMs` after earlier requests are done. Python errors
   * are replies, not rejections.
   */
  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>>;
  /** Cancels its current work. The server can be used again. */
  stop(): Promise<void>;
}

/** A worker, with its device name if there are several devices. */
export interface Member {
  readonly worker: RequestServer;
  readonly deviceName?: string;
}

/** The maximum number of requests per worker: one running, one queued. */
export const QUEUE_DEPTH = 2;

/** A first-in, first-out queue for members. */
class MemberQueue {
  readonly #idle: Member[];
  readonly #waiting: ((member: Member) => void)[] = [];

  constructor(members: readonly Member[]) {
    this.#idle = [...members];
  }

  async lend<T>(use: (member: Member) => Promise<T>): Promise<T> {
    const member = this.#idle.shift() ?? (await new Promise<Member>((resolve) => this.#waiting.push(resolve)));
    try {
      return await use(member);
    } finally {
      const next = this.#waiting.shift();
      if (next) next(member);
      else this.#idle.push(member);
    }
  }
}

export class WorkerPool {
  readonly members: readonly Member[];
  readonly #exclusive: MemberQueue;
  readonly #shared: MemberQueue;

  constructor(members: readonly Member[]) {
    this.members = members;
    this.#exclusive = new MemberQueue(members);
    this.#shared = new MemberQueue(Array.from({ length: QUEUE_DEPTH }, () => members).flat());
  }

  get size(): number {
    return this.members.length;
  }

  /** The device names, such as `cuda:0` and `cuda:1`; empty for a single device. */
  get deviceNames(): readonly string[] {
    return this.members.flatMap(({ deviceName: place }) => place ?? []);
  }

  /** Calls `use` with exclusive access to a worker, in the order of requests. */
  lease<T>(use: (member: Member) => Promise<T>): Promise<T> {
    return this.#exclusive.lend(use);
  }

  /**
   * Calls `use` with a worker that may still run another request. The worker can then start the next one at once,
   * however long this process takes to read the reply. Not for measurements.
   */
  share<T>(use: (member: Member) => Promise<T>): Promise<T> {
    return this.#shared.lend(use);
  }

  /** Processes each item with exclusive access to a worker, in parallel. Results are in the items' order. */
  map<Item, T>(items: readonly Item[], work: (item: Item, member: Member) => Promise<T>): Promise<T[]> {
    return Promise.all(items.map((item) => this.lease((member) => work(item, member))));
  }

  /** Sends a request to a free worker. Python errors are replies, not rejections. */
  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>> {
    return this.lease(({ worker }) => worker.request(request, deadlineMs));
  }

  async stop(): Promise<void> {
    await Promise.all(this.members.map(({ worker }) => worker.stop()));
  }
}
