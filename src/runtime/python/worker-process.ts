/** One Python process of the worker, as a sender and receiver of messages. */
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { before } from "../system/deadline.js";
import { Group } from "../system/process-group.js";
import { lastLine } from "../system/run-program.js";
import { PROTOCOL_VERSION, type Reply, type WorkerRequest } from "./protocol.js";
import { pythonEnv, pythonModule } from "./start-python.js";

export interface ProcessOptions {
  /** The Python executable. */
  readonly python: string;
  readonly device: "auto" | "cuda" | "hip" | "interpreter" | "compiler";
  /** The index of its only GPU, among those that torch sees. Default: torch sees them all. */
  readonly gpu?: number;
  /** Environment variables of the process; this process's by default. */
  readonly env?: NodeJS.ProcessEnv;
  /** Lets this process end while the worker waits for a request. */
  readonly background?: boolean | undefined;
  /** Receives what the process prints. */
  readonly onOutput?: (text: string) => void;
}

/** Why no message came. */
export interface Lost {
  readonly lost: "late" | "ended" | "garbled";
}

/** What the worker sends: once that it is ready, then one reply for each request. */
export type Message = { readonly ready: true } | (Reply & { readonly id: number });

const OUTPUT_TAIL = 4000;
/** A process that closed its channel ends within this time, and what a dead one has sent is read within it. */
const REST_MS = 1_000;

/**
 * Messages have a channel of their own, file descriptor 3. So whatever Python prints, from its first line of
 * `sitecustomize` on, is no part of them.
 */
export class WorkerProcess {
  readonly #group: Group;
  readonly #channel: Duplex | undefined;
  readonly #lines: AsyncIterator<string> | undefined;
  #tail = "";
  #isReady = false;

  constructor({ python, device, gpu, env = process.env, background, onOutput }: ProcessOptions) {
    const only = gpu === undefined ? [] : ["--gpu", String(gpu)];
    const args = pythonModule("tilescript_worker", "--device", device, "--channel", "3", ...only);
    const group = new Group(python, args, { env: pythonEnv(env), stdio: ["ignore", "pipe", "pipe", "pipe"] });
    this.#group = group;
    for (const stream of [group.child?.stdout, group.child?.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#tail = (this.#tail + text).slice(-OUTPUT_TAIL);
        onOutput?.(text);
      });
    const channel = group.child?.stdio[3] as Duplex | null | undefined;
    if (channel) {
      // The end of the process is what counts; an error of writing to it is a consequence.
      channel.on("error", () => undefined);
      this.#channel = channel;
      const lines = createInterface({ input: channel });
      this.#lines = lines[Symbol.asyncIterator]();
      // Whoever still holds the other end of the channel then is not the worker.
      void group.ended.then(() => sleep(REST_MS, undefined, { ref: false })).then(() => lines.close());
    }
    // While a request runs, the timer of its deadline keeps this process alive.
    if (background)
      for (const held of [group.child, ...(group.child?.stdio ?? [])])
        (held as { unref?: () => void } | null)?.unref?.();
  }

  get pid(): number | undefined {
    return this.#group.pid;
  }

  get hasEnded(): boolean {
    return this.#group.ending !== undefined;
  }

  /** Waits until Python runs our code. */
  async start(deadlineMs: number): Promise<Lost | undefined> {
    if (this.#isReady) return undefined;
    const message = await this.receive(deadlineMs);
    if ("lost" in message) return message;
    if (!("ready" in message)) return { lost: "garbled" };
    this.#isReady = true;
    // Our code ends the group when this process is gone.
    this.#group.watchesItself();
    return undefined;
  }

  send(id: number, request: WorkerRequest): void {
    this.#channel?.write(`${JSON.stringify({ v: PROTOCOL_VERSION, id, ...request })}\n`);
  }

  /** The next message. */
  async receive(deadlineMs: number): Promise<Message | Lost> {
    const line = await before(this.#lines?.next(), deadlineMs);
    if (line === "late") return { lost: "late" };
    if (line === undefined || line.done === true) return { lost: "ended" };
    const message = messageOf(line.value);
    if (message) return message;
    // Half a line is the last one of a process that died.
    await before(this.#group.ended, REST_MS);
    return { lost: this.hasEnded ? "ended" : "garbled" };
  }

  async kill(): Promise<void> {
    await this.#group.kill();
  }

  /** Why the process ended, from its exit status and the end of its output. */
  async epitaph(): Promise<string> {
    const closed = (await before(this.#group.ended, REST_MS)) === "late";
    const { exitCode, signal, unstarted } = await this.#group.kill();
    const status = closed
      ? "closed its connection and was stopped"
      : unstarted !== undefined
        ? `could not be started: ${unstarted}`
        : signal
          ? `was killed by ${signal}${reasons[signal] ?? ""}`
          : `ended with exit code ${exitCode ?? "unknown"}`;
    return `the Python worker ${status}${this.lastOutput}`;
  }

  /** The last line that it printed, as the end of a sentence. */
  get lastOutput(): string {
    const last = lastLine(this.#tail);
    return last ? `; its last output: ${last}` : "";
  }
}

const reasons: Readonly<Record<string, string>> = {
  SIGSEGV: " (an access outside every tensor)",
  SIGKILL: " (by a user, or by the system when memory runs out)",
};

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
