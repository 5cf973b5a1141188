/**
 * A persistent Python process. A crash, a hang or a damaged device becomes a reply with a reason, and the next request
 * starts a new process.
 */
import { loadExeca, lastLine, withDeadline, type Ending } from "../system/processes.js";
import { isDamaging, type Reply, type WorkerRequest, type FailureKind, PROTOCOL_VERSION } from "./protocol.js";
import { type Host, type LinkOptions, LocalLink, DRAIN_MS, type WorkerLink } from "./host.js";
import { availableParallelism, freemem } from "node:os";

// A pool of workers on equal devices. Each request goes to a free worker.

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

interface ProcessOptions extends Omit<LinkOptions, "onPrinted"> {
  /** The machine of the process. Default: this one. */
  readonly host?: Host | undefined;
  /** Receives the output of the process. */
  readonly onOutput?: (text: string) => void;
}

/** The reason why no message arrived. */
interface WorkerExit {
  readonly lost: "late" | "ended" | "garbled";
}

/** A message from the worker: first `ready`, then one reply per request. */
type Message = { readonly ready: true } | (Reply & { readonly id: number });

const OUTPUT_TAIL = 4000;

class WorkerProcess {
  readonly #link: WorkerLink;
  #tail = "";
  #isReady = false;

  constructor({ host, onOutput, ...options }: ProcessOptions) {
    const onPrinted = (text: string): void => {
      this.#tail = (this.#tail + text).slice(-OUTPUT_TAIL);
      onOutput?.(text);
    };
    this.#link = host ? host.startWorker({ ...options, onPrinted }) : new LocalLink({ ...options, onPrinted });
  }

  get pid(): number | undefined {
    return this.#link.pid;
  }

  get hasEnded(): boolean {
    return this.#link.ending !== undefined;
  }

  /** True once Python runs our code. */
  get isReady(): boolean {
    return this.#isReady;
  }

  /** Waits until Python runs our code. */
  async start(deadlineMs: number): Promise<WorkerExit | undefined> {
    if (this.#isReady) return undefined;
    const message = await this.receive(deadlineMs);
    if ("lost" in message) return message;
    if (!("ready" in message)) return { lost: "garbled" };
    this.#isReady = true;
    // The worker ends its group when this process is gone.
    this.#link.markSelfWatching();
    return undefined;
  }

  send(id: number, request: WorkerRequest): void {
    this.#link.send(JSON.stringify({ v: PROTOCOL_VERSION, id, ...request }));
  }

  /** Receives the next message. */
  async receive(deadlineMs: number): Promise<Message | WorkerExit> {
    // If a process dies with an unread request, its end of the channel is reset.
    const next = this.#link.lines?.next().catch((): IteratorResult<string> => ({ done: true, value: undefined }));
    const line = await withDeadline(next, deadlineMs);
    if (line === "late") return { lost: "late" };
    if (line === undefined || line.done === true) return { lost: "ended" };
    const message = messageOf(line.value);
    if (message) return message;
    // An incomplete line is the last one of a process that died.
    await withDeadline(this.#link.completion, DRAIN_MS);
    return { lost: this.hasEnded ? "ended" : "garbled" };
  }

  async kill(): Promise<void> {
    await this.#link.kill();
  }

  /** Builds the reply for a missing message. `late` describes what exceeded its deadline. */
  async failure(cause: WorkerExit["lost"], late: string): Promise<FailedReply> {
    if (cause !== "ended") return lostReply(cause, { late, printed: this.#tail });
    const isClosed = (await withDeadline(this.#link.completion, DRAIN_MS)) === "late";
    const ending = await this.#link.kill();
    return lostReply(cause, { late, ending, isClosed, printed: this.#tail });
  }
}

const reasons: Readonly<Record<string, string>> = {
  SIGSEGV: " (an access outside every tensor)",
  SIGKILL: " (by a user, or by the system when memory runs out)",
};

/** Details of a worker that did not reply. */
interface ExitDetails {
  /** Describes what exceeded its deadline. */
  readonly late: string;
  readonly ending?: Ending;
  /** True if the worker closed its channel but still ran. */
  readonly isClosed?: boolean;
  readonly printed: string;
}

type FailedReply = Reply & { readonly ok: false };

/** Builds the reply for a lost worker from its exit status and the end of its output. */
export function lostReply(
  cause: WorkerExit["lost"],
  { late, ending, isClosed = false, printed }: ExitDetails,
): FailedReply {
  const failedReply = (kind: FailureKind, message: string): FailedReply => ({
    ok: false,
    error: { kind, message, frames: [], fatal: true },
  });
  const lastPrinted = lastLine(printed);
  const lastOutput = lastPrinted ? `; its last output: ${lastPrinted}` : "";
  if (cause === "late") return failedReply("timeout", `${late}; the worker was stopped${lastOutput}`);
  if (cause === "garbled") return failedReply("protocol", "the worker sent an invalid reply and was stopped");
  const { exitCode = null, signal = null, unstarted, lost } = ending ?? {};
  if (lost !== undefined) return failedReply("connection", lost);
  const crash = (status: string) => failedReply("crash", `the Python worker ${status}${lastOutput}`);
  if (isClosed) return crash("closed its connection and was stopped");
  if (unstarted !== undefined) return crash(`could not be started: ${unstarted}`);
  if (signal) return crash(`was killed by ${signal}${reasons[signal] ?? ""}`);
  return crash(`ended with exit code ${exitCode ?? "unknown"}`);
}

function messageOf(line: string): Message | undefined {
  let message: unknown;
  try {
    message = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof message !== "object" || message === null) return undefined;
  const { ready, id, ok, error } = message as Readonly<Record<string, unknown>>;
  const isReply = typeof id === "number" && (ok === true || (ok === false && typeof error === "object"));
  return ready === true || isReply ? (message as Message) : undefined;
}

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

// A pool of Python processes that compile. They start on demand and stay for later jobs.

interface CompilersOptions extends Omit<WorkerOptions, "device"> {
  /**
   * Maximum number of processes. Default: the number of cores, up to 32, if each has a gigabyte of memory for torch and
   * LLVM.
   */
  readonly processes?: number | undefined;
}

export const MAX_PROCESSES = 32;

/** The memory of a process while LLVM compiles. */
const PROCESS_BYTES = 2 ** 30;

export class Compilers {
  readonly #options: Omit<WorkerOptions, "device">;
  readonly #workers: Worker[] = [];
  readonly #maxProcesses: number;

  constructor({ processes, ...options }: CompilersOptions) {
    this.#options = options;
    this.#maxProcesses = processes ?? defaultProcesses(options.host);
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

/** For another machine, whose memory is unknown, at most half of the maximum. */
function defaultProcesses(host: CompilersOptions["host"]): number {
  if (host) return Math.min(host.cores, MAX_PROCESSES / 2);
  return Math.max(1, Math.min(availableParallelism(), MAX_PROCESSES, Math.floor(freemem() / PROCESS_BYTES)));
}
