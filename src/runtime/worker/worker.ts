/**
 * A persistent Python process. A crash, a hang or a damaged device becomes a reply with a reason, and the next request
 * starts a new process.
 */
import { loadExeca } from "../system/process-group.js";
import { isDamaging, type Reply, type WorkerRequest } from "./protocol.js";
import type { RequestServer } from "./worker-pool.js";
import { type WorkerExit, type ProcessOptions, WorkerProcess } from "./worker-process.js";

export interface WorkerOptions extends ProcessOptions {
  /** Time limit for the start of Python. Default: `defaultStartMs`. */
  readonly startMs?: number;
}

/** Python itself starts in a fraction of a second; torch is imported later. */
export const defaultStartMs = 20_000;

/** The reply to a queued request of a stopped worker. */
export const stoppedReply: Reply & { readonly ok: false } = {
  ok: false,
  error: { kind: "crash", message: "the Python worker was stopped", frames: [], fatal: true },
};

/** A request that was sent while the process handled another one. */
interface SentRequest {
  readonly running: WorkerProcess;
  readonly id: number;
}

/** Runs requests in order. */
export class Worker implements RequestServer {
  readonly #options: WorkerOptions;
  #process: WorkerProcess | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #nextId = 1;
  /** The number of times that the worker was stopped. */
  #stopCount = 0;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** The id of the Python process, if there is one. */
  get pid(): number | undefined {
    return this.#process?.pid;
  }

  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>> {
    const stopCount = this.#stopCount;
    const early = this.#sendEarly(request);
    const reply = this.#queue.then(() =>
      stopCount === this.#stopCount ? this.#ask(request, deadlineMs, early) : stoppedReply,
    );
    this.#queue = reply.catch(() => undefined);
    return reply as Promise<Reply<Request["type"]>>;
  }

  async stop(): Promise<void> {
    this.#stopCount++;
    await this.#kill();
    await this.#queue;
  }

  /** Sends a request to a busy process, so that it can start the request as soon as earlier ones are done. */
  #sendEarly(request: WorkerRequest): SentRequest | undefined {
    const running = this.#process;
    if (!running?.isReady || running.hasEnded) return undefined;
    const id = this.#nextId++;
    running.send(id, request);
    return { running, id };
  }

  async #ask(request: WorkerRequest, deadlineMs: number, early: SentRequest | undefined): Promise<Reply> {
    // A process that was replaced never started its early request.
    const sent = early?.running === this.#process ? early : undefined;
    // A process that died before this request is replaced: the request is not the cause.
    if (!sent && this.#process?.hasEnded) await this.#kill();
    if (!this.#process) await loadExeca();
    const running = (this.#process ??= new WorkerProcess(this.#options));
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

  /** Kills the process and builds the reply with the reason. */
  async #failure(running: WorkerProcess, { lost }: WorkerExit, late: string): Promise<Reply> {
    const failure = await running.failure(lost, late);
    await this.#kill();
    return failure;
  }

  async #kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    await running?.kill();
  }
}
