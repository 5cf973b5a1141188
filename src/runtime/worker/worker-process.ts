/** One Python process of the worker, as a sender and receiver of messages. */
import { withDeadline } from "../system/deadline.js";
import type { Ending } from "../system/process-group.js";
import { lastLine } from "../system/run-program.js";
import type { Host } from "./host.js";
import { type FailureKind, PROTOCOL_VERSION, type Reply, type WorkerRequest } from "./protocol.js";
import { type LinkOptions, LocalLink, REST_MS, type WorkerLink } from "./worker-link.js";

export interface ProcessOptions extends Omit<LinkOptions, "onPrinted"> {
  /** The machine that it runs on. Default: this one. */
  readonly host?: Host | undefined;
  /** Receives what the process prints. */
  readonly onOutput?: (text: string) => void;
}

/** Why no message came. */
export interface WorkerExit {
  readonly lost: "late" | "ended" | "garbled";
}

/** What the worker sends: once that it is ready, then one reply for each request. */
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

  /** Whether Python runs our code. */
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
    // Our code ends the group when this process is gone.
    this.#link.watchesItself();
    return undefined;
  }

  send(id: number, request: WorkerRequest): void {
    this.#link.send(JSON.stringify({ v: PROTOCOL_VERSION, id, ...request }));
  }

  /** The next message. */
  async receive(deadlineMs: number): Promise<Message | WorkerExit> {
    // Where a process dies with a request unread, its end of the channel is reset.
    const next = this.#link.lines?.next().catch((): IteratorResult<string> => ({ done: true, value: undefined }));
    const line = await withDeadline(next, deadlineMs);
    if (line === "late") return { lost: "late" };
    if (line === undefined || line.done === true) return { lost: "ended" };
    const message = messageOf(line.value);
    if (message) return message;
    // Half a line is the last one of a process that died.
    await withDeadline(this.#link.ended, REST_MS);
    return { lost: this.hasEnded ? "ended" : "garbled" };
  }

  async kill(): Promise<void> {
    await this.#link.kill();
  }

  /** The reply that says why none came; `late` says what took too long. */
  async failure(how: WorkerExit["lost"], late: string): Promise<FailedReply> {
    if (how !== "ended") return lostReply(how, { late, printed: this.#tail });
    const closed = (await withDeadline(this.#link.ended, REST_MS)) === "late";
    const ending = await this.#link.kill();
    return lostReply(how, { late, ending, closed, printed: this.#tail });
  }
}

const reasons: Readonly<Record<string, string>> = {
  SIGSEGV: " (an access outside every tensor)",
  SIGKILL: " (by a user, or by the system when memory runs out)",
};

/** What is known of a worker that gave no answer. */
interface Circumstances {
  /** What took too long. */
  readonly late: string;
  readonly ending?: Ending;
  /** Whether it closed its connection and still ran. */
  readonly closed?: boolean;
  readonly printed: string;
}

type FailedReply = Reply & { readonly ok: false };

/** The reply that says why none came, from the exit status and the end of the output. */
export function lostReply(
  how: WorkerExit["lost"],
  { late, ending, closed = false, printed }: Circumstances,
): FailedReply {
  const failed = (kind: FailureKind, message: string): FailedReply => ({
    ok: false,
    error: { kind, message, frames: [], fatal: true },
  });
  const last = lastLine(printed);
  const lastOutput = last ? `; its last output: ${last}` : "";
  if (how === "late") return failed("timeout", `${late}; the worker was stopped${lastOutput}`);
  if (how === "garbled") return failed("protocol", "the worker sent what is no answer to the request, and was stopped");
  const { exitCode = null, signal = null, unstarted, lost } = ending ?? {};
  if (lost !== undefined) return failed("connection", lost);
  const status = closed
    ? "closed its connection and was stopped"
    : unstarted !== undefined
      ? `could not be started: ${unstarted}`
      : signal
        ? `was killed by ${signal}${reasons[signal] ?? ""}`
        : `ended with exit code ${exitCode ?? "unknown"}`;
  return failed("crash", `the Python worker ${status}${lastOutput}`);
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
