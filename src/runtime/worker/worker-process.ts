/** One Python process of a worker: sends requests and receives messages. */
import { withDeadline } from "../system/deadline.js";
import type { Ending } from "../system/process-group.js";
import { lastLine } from "../system/run-program.js";
import type { Host } from "./host.js";
import { type FailureKind, PROTOCOL_VERSION, type Reply, type WorkerRequest } from "./protocol.js";
import { type LinkOptions, LocalLink, DRAIN_MS, type WorkerLink } from "./worker-link.js";

export interface ProcessOptions extends Omit<LinkOptions, "onPrinted"> {
  /** The machine of the process. Default: this one. */
  readonly host?: Host | undefined;
  /** Receives the output of the process. */
  readonly onOutput?: (text: string) => void;
}

/** The reason why no message arrived. */
export interface WorkerExit {
  readonly lost: "late" | "ended" | "garbled";
}

/** A message from the worker: first `ready`, then one reply per request. */
export type Message = { readonly ready: true } | (Reply & { readonly id: number });

const OUTPUT_TAIL = 4000;

export class WorkerProcess {
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
