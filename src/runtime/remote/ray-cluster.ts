/** A Ray cluster, through `python/tilescript_worker/ray_cluster.py`, which drives its actors. */
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { type UploadedFile, type Remote, type LinkOptions, pythonEnv, pythonModule } from "../worker/host.js";
import {
  type FailureKind,
  type HelloResult,
  PROTOCOL_VERSION,
  type Reply,
  type WorkerRequest,
} from "../worker/protocol.js";
import { stoppedReply, lostReply, type RequestServer } from "../worker/worker.js";
import { keyOfText } from "../system/files.js";
import { EnvironmentError } from "../system/errors.js";
import { lastLine, withDeadline, type Ending, loadExeca, ProcessGroup } from "../system/processes.js";

export interface FleetOptions {
  /** Ray's address of the cluster. */
  readonly address: string;
  /** The local Python, which has ray. */
  readonly python: string;
  /** The name on the command line: `ray:auto`. */
  readonly name: string;
  readonly device: LinkOptions["device"];
  /** The number of actors on CPUs. Default: one per CPU of the cluster. */
  readonly count?: number | undefined;
  /**
   * The maximum number of compiling actors on the CPUs of each node with a GPU; a request then stays on its node.
   * Default: none.
   */
  readonly compilers?: number | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Lets this process end while the cluster is in use. */
  readonly background?: boolean | undefined;
  /** Receives the output of user code on the nodes. */
  readonly onOutput?: ((text: string) => void) | undefined;
}

/** An actor, with its location, its Python and its device. */
export interface RayActor {
  /** Its machine and its device there, such as `box gpu:0`. */
  readonly place: string;
  /** Ray's id of its node. */
  readonly node: string;
  readonly python: string;
  /** The worker's properties. An actor that only compiles has the device `compiler`. */
  readonly hello: Omit<HelloResult, "device"> & { readonly device: HelloResult["device"] | "compiler" };
}

/** A reply of `ray_cluster.py`: the worker's reply, or the reason why the worker was lost. */
interface Answer {
  readonly id: number;
  /** The name of the actor that handled the request. */
  readonly on: string;
  readonly reply?: Reply;
  readonly lost?: "late" | "ended" | "garbled" | "stopped" | "gone";
  readonly exitCode?: number | null;
  readonly signal?: NodeJS.Signals | null;
  readonly closed?: boolean;
  readonly printed?: string;
}

type Handshake = { readonly ready: true; readonly seats: readonly RayActor[] } | { readonly failed: string };

/**
 * Time limit for starting actors and importing torch, which `ray_cluster.py` enforces, with a margin for Ray itself.
 */
const START_MS = 420_000;
/** Time limit for actors to exit after the connection is closed. */
const CLOSE_MS = 10_000;
const OUTPUT_TAIL = 4_000;

export class RayClusterClient implements Remote {
  readonly #options: FleetOptions;
  readonly #group: ProcessGroup;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #seats: readonly RayActor[] = [];
  #nextId = 1;
  #tail = "";
  #lossReason: string | undefined;
  #resolveHandshake: (handshake: Handshake) => void = () => undefined;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { python, address, device, count, compilers, env = process.env, background } = options;
    const numbers = Object.entries({ count, compilers }).flatMap(([name, limit]) =>
      limit === undefined ? [] : [`--${name}`, String(limit)],
    );
    const args = ["--address", address, "--device", device, "--channel", "3", ...numbers];
    const group = new ProcessGroup(python, pythonModule("tilescript_worker.ray_cluster", ...args), {
      env: pythonEnv(env),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#group = group;
    for (const stream of [group.child.stdout, group.child.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#tail = (this.#tail + text).slice(-OUTPUT_TAIL)));
    const channel = this.#channel;
    channel?.on("error", () => undefined);
    if (channel) createInterface({ input: channel }).on("line", (line) => this.#read(line));
    void group.completion.then((ending) => this.#fail(this.#describeLoss(ending)));
    if (background)
      for (const handle of [group.child, ...group.child.stdio]) (handle as { unref?: () => void } | null)?.unref?.();
  }

  /** Connects to the cluster and starts actors there. Throws EnvironmentError. */
  static async open(options: FleetOptions): Promise<RayClusterClient> {
    await loadExeca();
    const fleet = new RayClusterClient(options);
    const handshake = new Promise<Handshake>((resolve) => void (fleet.#resolveHandshake = resolve));
    const failure = fleet.#group.completion.then((ending): Handshake => ({ failed: fleet.#describeLoss(ending) }));
    const result = await withDeadline(Promise.race([handshake, failure]), START_MS);
    if (result !== "late" && "ready" in result) {
      fleet.#seats = result.seats;
      fleet.#group.markSelfWatching();
      return fleet;
    }
    await fleet.close();
    const why = result === "late" ? `it did not answer within ${START_MS / 1000} s` : result.failed;
    throw new EnvironmentError(`${options.name} can't be used: ${why}`);
  }

  get name(): string {
    return this.#options.name;
  }

  get lossReason(): string | undefined {
    return this.#lossReason;
  }

  get seats(): readonly RayActor[] {
    return this.#seats;
  }

  /** A server of requests for a seat's actor, or for another actor of the same kind while that one is lost. */
  server(seat: number): RequestServer {
    const [requests, pending] = [this.#requests(seat), new Set<Promise<unknown>>()];
    return {
      request: (request, deadlineMs) => {
        const reply = requests(request, deadlineMs);
        pending.add(reply);
        void reply.then(() => pending.delete(reply));
        return reply as Promise<never>;
      },
      stop: async () => {
        this.#send({ do: "cancel", seat });
        await Promise.all(pending);
      },
    };
  }

  async upload(name: string, text: string): Promise<UploadedFile> {
    // The path contains the hash of the text, so nodes share the file. It is deleted with the connection.
    const path = `${keyOfText(text)}/${name}`;
    this.#send({ do: "place", path, text });
    return { path, remove: async () => undefined };
  }

  async close(): Promise<void> {
    this.#channel?.end();
    if ((await withDeadline(this.#group.completion, CLOSE_MS)) === "late") await this.#group.kill();
  }

  get #channel(): Duplex | undefined {
    return (this.#group.child.stdio[3] ?? undefined) as Duplex | undefined;
  }

  #requests(seat: number) {
    return async (request: WorkerRequest, deadlineMs: number): Promise<Reply> => {
      const id = this.#nextId++;
      const seconds = deadlineMs / 1000;
      const answer = await new Promise<Answer>((resolve) => {
        if (this.#lossReason !== undefined) return resolve({ id, on: "", lost: "gone", printed: this.#lossReason });
        this.#pending.set(id, resolve);
        this.#send({ do: "ask", id, seat, seconds, request: { v: PROTOCOL_VERSION, id, ...request } });
      });
      if (answer.printed && answer.lost !== "gone") this.#options.onOutput?.(answer.printed);
      return replyOf(answer, seconds);
    };
  }

  #send(message: object): void {
    if (this.#lossReason === undefined) this.#channel?.write(`${JSON.stringify(message)}\n`);
  }

  #read(line: string): void {
    const message = JSON.parse(line) as Answer | Handshake;
    if (!("id" in message)) return this.#resolveHandshake(message);
    this.#pending.get(message.id)?.(message);
    this.#pending.delete(message.id);
  }

  #fail(why: string): void {
    this.#lossReason = why;
    for (const [id, resolve] of this.#pending) resolve({ id, on: "", lost: "gone", printed: why });
    this.#pending.clear();
  }

  #describeLoss({ exitCode, signal, unstarted }: Ending): string {
    const how = unstarted ?? signal ?? `exit code ${exitCode}`;
    return `the connection to ${this.name} was lost: ${lastLine(this.#tail) ?? `its driver ended (${how})`}`;
  }
}

function replyOf(answer: Answer, seconds: number): Reply {
  const { reply, on, lost = "garbled", printed = "", exitCode = null, signal = null, closed = false } = answer;
  if (reply) return reply.ok ? { ok: true, result: reply.result, on } : reply;
  if (lost === "stopped") return stoppedReply;
  const late = `no answer within ${seconds} s`;
  const kind: FailureKind = "connection";
  if (lost === "gone") return { ok: false, error: { kind, message: printed, frames: [], fatal: true } };
  return lostReply(lost, { late, ending: { exitCode, signal }, isClosed: closed, printed });
}
