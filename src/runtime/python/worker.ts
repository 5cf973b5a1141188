/**
 * The persistent Python process. A crash, a hang or a poisoned device is a reply with a reason, and the next request
 * gets a fresh process.
 */
import { execa } from "execa";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import {
  PROTOCOL_VERSION,
  type FailureKind,
  type Reply,
  type Results,
  type WireFailure,
  type WorkerRequest,
} from "./protocol.js";

export interface WorkerOptions {
  /** The Python executable. */
  readonly python: string;
  readonly device: "auto" | "cuda" | "hip" | "interpreter" | "compiler";
  /** Environment variables of the process; this process's by default. */
  readonly env?: NodeJS.ProcessEnv;
  /** Lets this process end while the worker waits for a request. */
  readonly background?: boolean | undefined;
  /** Receives the process' output besides the protocol. */
  readonly onOutput?: (text: string) => void;
}

/** Folder that holds the worker's package and its lock. */
export const pythonFolder = fileURLToPath(new URL("../../../python/", import.meta.url));

const OUTPUT_TAIL = 4000;
/** Timers of more milliseconds than this fire at once. */
const LONGEST_MS = 2 ** 31 - 1;

interface Running {
  readonly child: ReturnType<typeof spawn>;
  readonly lines: AsyncIterator<string>;
  tail: string;
}

/** Runs requests one after another. */
export class Worker {
  readonly #options: WorkerOptions;
  #running: Running | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  #nextId = 1;

  constructor(options: WorkerOptions) {
    this.#options = options;
  }

  /** The process id of the Python process, if there is one. */
  get pid(): number | undefined {
    return this.#running?.child.pid;
  }

  /** Sends a request and waits for its reply, at most `deadlineMs`. Never rejects for what Python does. */
  request<Request extends WorkerRequest>(request: Request, deadlineMs: number): Promise<Reply<Request["type"]>> {
    const reply = this.#queue.then(() => this.#ask(request, deadlineMs));
    this.#queue = reply.catch(() => undefined);
    return reply as Promise<Reply<Request["type"]>>;
  }

  /** Ends the process. The worker can be used again; it starts another. */
  async stop(): Promise<void> {
    await this.#queue;
    await this.#kill();
  }

  async #ask(request: WorkerRequest, deadlineMs: number): Promise<Reply> {
    // If the process died since the last request, this request is not the cause.
    if (this.#running && hasEnded(this.#running.child)) await this.#kill();
    const running = (this.#running ??= this.#start());
    const id = this.#nextId++;
    running.child.stdin.write(`${JSON.stringify({ v: PROTOCOL_VERSION, id, ...request })}\n`);
    const line = await before(running.lines.next(), deadlineMs);
    if (line === "late") {
      await this.#kill();
      return failure("timeout", `no answer within ${seconds(deadlineMs)}; the worker was stopped`);
    }
    if (line.done === true) return failure("crash", await this.#epitaph(running));
    const message = JSON.parse(line.value) as { id: number } & Reply;
    if (message.id !== id) {
      await this.#kill();
      return failure("protocol", `the worker answered request ${message.id} instead of ${id}`);
    }
    if (!message.ok && message.error.fatal) await this.#kill();
    return message.ok ? { ok: true, result: message.result as Results[keyof Results] } : message;
  }

  #start(): Running {
    const child = spawn(this.#options);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const running: Running = { child, lines, tail: "" };
    child.stderr.on("data", (chunk: Buffer) => {
      running.tail = (running.tail + chunk.toString()).slice(-OUTPUT_TAIL);
      this.#options.onOutput?.(chunk.toString());
    });
    // A dead process is detected by the end of its output; errors of writing to it are ignored.
    child.stdin.on("error", () => undefined);
    exitHooks.add(child.pid);
    // While a request runs, the timer of its deadline keeps this process alive.
    if (this.#options.background)
      for (const held of [child, child.stdin, child.stdout, child.stderr]) (held as { unref?: () => void }).unref?.();
    void child.finally(() => exitHooks.delete(child.pid));
    return running;
  }

  async #kill(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    if (!running) return;
    killGroup(running.child.pid);
    await running.child;
  }

  /** Why the process ended, from its exit status and the end of its output. */
  async #epitaph(running: Running): Promise<string> {
    const ended = await running.child;
    await this.#kill();
    const status = ended.signal
      ? `was killed by ${ended.signal}`
      : `ended with exit code ${ended.exitCode ?? "unknown"}`;
    const reason = reasons[ended.signal ?? ""] ?? "";
    const start =
      ended.originalMessage && ended.exitCode === undefined && !ended.signal ? `: ${ended.originalMessage}` : "";
    const last = running.tail.trim().split("\n").at(-1);
    return `the Python worker ${status}${reason}${start}${last ? `; its last output: ${last}` : ""}`;
  }
}

const reasons: Readonly<Record<string, string>> = {
  SIGSEGV: " (an access outside every tensor)",
  SIGKILL: " (by a user, or by the system when memory runs out)",
};

const hasEnded = ({ exitCode, signalCode }: Running["child"]): boolean => exitCode !== null || signalCode !== null;

function spawn({ python, device, env = process.env }: WorkerOptions) {
  return execa(python, ["-m", "tilescript_worker", "--device", device], {
    env: { ...env, PYTHONPATH: pythonPath(env), PYTHONDONTWRITEBYTECODE: "1" },
    extendEnv: false,
    stdin: "pipe",
    reject: false,
    buffer: false,
    // A group of its own, so that helpers that it starts (ptxas, a compiler) end with it.
    detached: true,
  });
}

/** Processes to end when this one ends for any reason. */
const exitHooks = new Set<number | undefined>();
process.on("exit", () => exitHooks.forEach(killGroup));

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(process.platform === "win32" ? pid : -pid, "SIGKILL");
  } catch {
    // It has ended already.
  }
}

/** PYTHONPATH with our package first; the user's entries follow. */
export function pythonPath(env: NodeJS.ProcessEnv): string {
  const separator = process.platform === "win32" ? ";" : ":";
  return [pythonFolder, env["PYTHONPATH"]].filter(Boolean).join(separator);
}

async function before<T>(promise: Promise<T>, deadlineMs: number): Promise<T | "late"> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<"late">(
    (resolve) => (timer = setTimeout(() => resolve("late"), Math.min(deadlineMs, LONGEST_MS))),
  );
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

function failure(kind: FailureKind, message: string): { ok: false; error: WireFailure } {
  return { ok: false, error: { kind, message, frames: [], fatal: true } };
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
