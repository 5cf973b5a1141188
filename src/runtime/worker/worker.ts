/**
 * The persistent Python process. A crash, a hang or a poisoned device is a reply with a reason, and the next request
 * gets a fresh process.
 */
import { isDamaging, type Reply, type WorkerRequest } from "./protocol.js";
import type { RequestServer } from "./worker-pool.js";
import { type WorkerExit, type ProcessOptions, WorkerProcess } from "./worker-process.js";

export interface WorkerOptions extends ProcessOptions {
  /** A process that does not run our code after so many milliseconds is stopped. Default: `defaultStartMs`. */
  readonly startMs?: number;
}

/** Python itself starts in a fraction of a second; torch is imported later. */
export const defaultStartMs = 20_000;

/** The reply to a request that waited when its worker was stopped. */
export const stopped: Reply & { readonly ok: false } = {
  ok: false,
  error: { kind: "crash", message: "the Python worker was stopped", frames: [], fatal: true },
};

/** A request that was sent while the process worked on another one. */
interface Sent {
  readonly running: WorkerProcess;
  readonly id: number;
}

/** Runs requests one after another. */
export class Worker implements RequestServer {
  readonly #options: WorkerOptions;
  #running: WorkerProcess | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #nextId = 1;
  /** How often it was stopped. */
  #stops = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** The process id of the Python process, if there is one. */
  get pid(): number | undefined {
    return this.#running?.pid;
  }

  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>> {
    const stops = this.#stops;
    const sent = this.#sendEarly(request);
    const reply = this.#queue.then(() => (stops === this.#stops ? this.#ask(request, deadlineMs, sent) : stopped));
    this.#queue = reply.catch(() => undefined);
    return reply as Promise<Reply<Request["type"]>>;
  }

  async stop(): Promise<void> {
    this.#stops++;
    await this.#kill();
    await this.#queue;
  }

  /** Sends a request to a process that may be busy, so that it has it at hand when it is done with those before. */
  #sendEarly(request: WorkerRequest): Sent | undefined {
    const running = this.#running;
    if (!running?.isReady || running.hasEnded) return undefined;
    const id = this.#nextId++;
    running.send(id, request);
    return { running, id };
  }

  async #ask(request: WorkerRequest, deadlineMs: number, early: Sent | undefined): Promise<Reply> {
    // A process that was replaced has not begun what it was sent early.
    const sent = early?.running === this.#running ? early : undefined;
    // If the process died since the last request, this request is not the cause.
    if (!sent && this.#running?.hasEnded) await this.#kill();
    const running = (this.#running ??= new WorkerProcess(this.#options));
    const startMs = this.#options.startMs ?? defaultStartMs;
    const failedStart = await running.start(startMs);
    if (failedStart) return this.#failure(running, failedStart, `Python did not start within ${startMs / 1000} s`);
    const id = sent?.id ?? this.#nextId++;
    if (!sent) running.send(id, request);
    const message = await running.receive(deadlineMs);
    if ("lost" in message) return this.#failure(running, message, `no answer within ${deadlineMs / 1000} s`);
    if ("ready" in message || message.id !== id) return this.#failure(running, { lost: "garbled" }, "");
    if (isDamaging(message)) await this.#kill();
    return message.ok ? { ok: true, result: message.result } : message;
  }

  /** Ends the process, and says why no reply came. */
  async #failure(running: WorkerProcess, { lost }: WorkerExit, late: string): Promise<Reply> {
    const failure = await running.failure(lost, late);
    await this.#kill();
    return failure;
  }

  async #kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.kill();
  }
}
