/** A Ray cluster, through `python/tilescript_worker/ray_cluster.py`, which drives its actors. */
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import type { Placed, Remote } from "../worker/host.js";
import {
  type FailureKind,
  type HelloResult,
  PROTOCOL_VERSION,
  type Reply,
  type WorkerRequest,
} from "../worker/protocol.js";
import { pythonEnv, pythonModule } from "../worker/start-python.js";
import type { LinkOptions } from "../worker/worker-link.js";
import type { RequestServer } from "../worker/worker-pool.js";
import { stopped } from "../worker/worker.js";
import { lostReply } from "../worker/worker-process.js";
import { keyOfText } from "../system/json-cache.js";
import { withDeadline } from "../system/deadline.js";
import { EnvironmentError } from "../system/errors.js";
import { type Ending, Group } from "../system/process-group.js";
import { lastLine } from "../system/run-program.js";

export interface FleetOptions {
  /** What Ray calls the cluster. */
  readonly address: string;
  /** The Python here, which has ray. */
  readonly python: string;
  /** The name on the command line: `ray:auto`. */
  readonly name: string;
  readonly device: LinkOptions["device"];
  /** The number of actors on the CPU. Default: one for each CPU of the cluster. */
  readonly count?: number | undefined;
  /** The most actors that compile on the CPUs of each node with a GPU; a request then stays on its node. Default: none. */
  readonly compilers?: number | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
  /** Lets this process end while the cluster is in use. */
  readonly background?: boolean | undefined;
  /** Receives what user code prints on the nodes. */
  readonly onOutput?: ((text: string) => void) | undefined;
}

/** An actor: where it was started, with its Python and what that runs on. */
export interface RayActor {
  /** Its machine and its unit there, such as `box gpu:0`. */
  readonly place: string;
  /** What Ray calls its node. */
  readonly node: string;
  readonly python: string;
  /** What its worker runs on. That of an actor which only compiles is no device. */
  readonly hello: Omit<HelloResult, "device"> & { readonly device: HelloResult["device"] | "compiler" };
}

/** What `fleet.py` says of a request: the worker's reply, or how the worker was lost. */
interface Answer {
  readonly id: number;
  /** The place of the actor that worked on it. */
  readonly on: string;
  readonly reply?: Reply;
  readonly lost?: "late" | "ended" | "garbled" | "stopped" | "gone";
  readonly exitCode?: number | null;
  readonly signal?: NodeJS.Signals | null;
  readonly closed?: boolean;
  readonly printed?: string;
}

type First = { readonly ready: true; readonly seats: readonly RayActor[] } | { readonly failed: string };

/** Nodes start actors and import torch within this time, which `fleet.py` watches; Ray itself needs some too. */
const START_MS = 420_000;
/** Actors end within this time when the connection is closed. */
const REST_MS = 10_000;
const TAIL = 4_000;

export class RayClusterClient implements Remote {
  readonly #options: FleetOptions;
  readonly #group: Group;
  readonly #asked = new Map<number, (answer: Answer) => void>();
  #seats: readonly RayActor[] = [];
  #next = 1;
  #tail = "";
  #lost: string | undefined;
  #begin: (first: First) => void = () => undefined;

  private constructor(options: FleetOptions) {
    this.#options = options;
    const { python, address, device, count, compilers, env = process.env, background } = options;
    const numbers = Object.entries({ count, compilers }).flatMap(([name, most]) =>
      most === undefined ? [] : [`--${name}`, String(most)],
    );
    const given = ["--address", address, "--device", device, "--channel", "3", ...numbers];
    const group = new Group(python, pythonModule("tilescript_worker.ray_cluster", ...given), {
      env: pythonEnv(env),
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
    this.#group = group;
    for (const stream of [group.child?.stdout, group.child?.stderr])
      stream?.setEncoding("utf8").on("data", (text: string) => (this.#tail = (this.#tail + text).slice(-TAIL)));
    const channel = this.#channel;
    channel?.on("error", () => undefined);
    if (channel) createInterface({ input: channel }).on("line", (line) => this.#read(line));
    void group.ended.then((ending) => this.#lose(this.#epitaph(ending)));
    if (background)
      for (const held of [group.child, ...(group.child?.stdio ?? [])])
        (held as { unref?: () => void } | null)?.unref?.();
  }

  /** Connects to the cluster and starts actors there. Throws EnvironmentError. */
  static async open(options: FleetOptions): Promise<RayClusterClient> {
    const fleet = new RayClusterClient(options);
    const first = new Promise<First>((resolve) => void (fleet.#begin = resolve));
    const ended = fleet.#group.ended.then((ending): First => ({ failed: fleet.#epitaph(ending) }));
    const begun = await withDeadline(Promise.race([first, ended]), START_MS);
    if (begun !== "late" && "ready" in begun) {
      fleet.#seats = begun.seats;
      fleet.#group.watchesItself();
      return fleet;
    }
    await fleet.close();
    const why = begun === "late" ? `it did not answer within ${START_MS / 1000} s` : begun.failed;
    throw new EnvironmentError(`${options.name} can't be used: ${why}`);
  }

  get name(): string {
    return this.#options.name;
  }

  get lost(): string | undefined {
    return this.#lost;
  }

  get seats(): readonly RayActor[] {
    return this.#seats;
  }

  /** Whoever asks a seat's actor, and while that is lost another one of the same kind. */
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

  async place(name: string, text: string): Promise<Placed> {
    // Whoever has a file of this path has this text. It goes with the connection, as others may use it too.
    const path = `${keyOfText(text)}/${name}`;
    this.#send({ do: "place", path, text });
    return { path, remove: async () => undefined };
  }

  async close(): Promise<void> {
    this.#channel?.end();
    if ((await withDeadline(this.#group.ended, REST_MS)) === "late") await this.#group.kill();
  }

  get #channel(): Duplex | undefined {
    return (this.#group.child?.stdio[3] ?? undefined) as Duplex | undefined;
  }

  #requests(seat: number) {
    return async (request: WorkerRequest, deadlineMs: number): Promise<Reply> => {
      const id = this.#next++;
      const seconds = deadlineMs / 1000;
      const answer = await new Promise<Answer>((resolve) => {
        if (this.#lost !== undefined) return resolve({ id, on: "", lost: "gone", printed: this.#lost });
        this.#asked.set(id, resolve);
        this.#send({ do: "ask", id, seat, seconds, request: { v: PROTOCOL_VERSION, id, ...request } });
      });
      if (answer.printed && answer.lost !== "gone") this.#options.onOutput?.(answer.printed);
      return replyOf(answer, seconds);
    };
  }

  #send(message: object): void {
    if (this.#lost === undefined) this.#channel?.write(`${JSON.stringify(message)}\n`);
  }

  #read(line: string): void {
    const message = JSON.parse(line) as Answer | First;
    if (!("id" in message)) return this.#begin(message);
    this.#asked.get(message.id)?.(message);
    this.#asked.delete(message.id);
  }

  #lose(why: string): void {
    this.#lost = why;
    for (const [id, resolve] of this.#asked) resolve({ id, on: "", lost: "gone", printed: why });
    this.#asked.clear();
  }

  #epitaph({ exitCode, signal, unstarted }: Ending): string {
    const how = unstarted ?? signal ?? `exit code ${exitCode}`;
    return `the connection to ${this.name} was lost: ${lastLine(this.#tail) ?? `its driver ended (${how})`}`;
  }
}

function replyOf(answer: Answer, seconds: number): Reply {
  const { reply, on, lost = "garbled", printed = "", exitCode = null, signal = null, closed = false } = answer;
  if (reply) return reply.ok ? { ok: true, result: reply.result, on } : reply;
  if (lost === "stopped") return stopped;
  const late = `no answer within ${seconds} s`;
  const kind: FailureKind = "connection";
  if (lost === "gone") return { ok: false, error: { kind, message: printed, frames: [], fatal: true } };
  return lostReply(lost, { late, ending: { exitCode, signal }, closed, printed });
}
