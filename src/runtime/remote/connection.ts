/** A connection to `python/tilescript_worker/agent.py` on another machine, through the streams of a local program. */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { EnvironmentError } from "../system/errors.js";
import { lastLine, withDeadline, type Ending, ProcessGroup } from "../system/processes.js";

export interface ConnectionOptions {
  /** The name of the machine in messages. */
  readonly name: string;
  /** The program that connects its streams to the machine, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The agent's source. */
  readonly agent: string;
  /** Lets this process end while the connection is open. */
  readonly background?: boolean | undefined;
}

/** The properties of its machine that the agent reports. */
export interface Facts {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cores: number;
  readonly platform: string;
}

/** Callbacks for the events of a remote program. */
export interface ProgramEvents {
  onLine?(text: string): void;
  onOutput(text: string): void;
  onExit?(ending: Ending): void;
}

/** An error that the agent reports, with the system's error code. */
export class RemoteError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly path: string,
  ) {
    super(message);
  }
}

/** Jump hosts and hardware tokens slow down the connection. */
const START_MS = 60_000;
const ALIVE_MS = 20_000;
/** Time limit for the program to exit after the connection is closed. */
const CLOSE_MS = 2_000;
const OUTPUT_TAIL = 4_000;

interface PendingRequest {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** Parses a message; undefined for an incomplete one, which a broken connection leaves. */
function messageOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #group: ProcessGroup;
  /** The prefix of every message from the agent. Other lines are output of the login shell. */
  readonly #marker = randomBytes(12).toString("hex");
  readonly #pending = new Map<number, PendingRequest>();
  readonly #programs = new Map<number, ProgramEvents>();
  #nextId = 1;
  #tail = "";
  #lossReason: string | undefined;
  #resolveReady: (facts: Facts) => void = () => undefined;
  readonly #ready = new Promise<Facts>((resolve) => void (this.#resolveReady = resolve));

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const [program, ...args] = options.command;
    const group = new ProcessGroup(program, args, { env: process.env, stdio: ["pipe", "pipe", "pipe"] });
    this.#group = group;
    const { child } = group;
    child.stdin?.on("error", () => undefined);
    child.stderr?.setEncoding("utf8").on("data", (text: string) => this.#appendOutput(text));
    if (child.stdout) createInterface({ input: child.stdout }).on("line", (line) => this.#read(line));
    void group.completion.then((ending) =>
      withDeadline(this.#waitForStreams(), 500).then(() => this.#close(this.#describeLoss(ending))),
    );
    const source = Buffer.from(options.agent);
    child.stdin?.write(Buffer.concat([Buffer.from(`${source.length}\n`), source, Buffer.from(`${this.#marker}\n`)]));
    const keepAlive = setInterval(() => this.#send({ do: "alive", id: 0 }), ALIVE_MS);
    keepAlive.unref();
    void group.completion.then(() => clearInterval(keepAlive));
    if (options.background)
      for (const handle of [child, ...child.stdio]) (handle as { unref?: () => void } | null)?.unref?.();
  }

  /** The reason why the connection was lost; undefined while it is open. */
  get lossReason(): string | undefined {
    return this.#lossReason;
  }

  /** Waits until the agent runs. Throws EnvironmentError. */
  async ready(): Promise<Facts> {
    const facts = await withDeadline(
      Promise.race([this.#ready, this.#group.completion.then(() => undefined)]),
      START_MS,
    );
    if (facts !== undefined && facts !== "late") {
      // When this process ends, its end of the connection closes, and the agent kills its child processes.
      this.#group.markSelfWatching();
      return facts;
    }
    const { name } = this.#options;
    const why =
      facts === "late"
        ? `${name} did not answer within ${START_MS / 1000} s; \`ssh ${name}\` in a terminal shows its prompts`
        : this.#whyUnreachable(await this.#group.completion);
    await this.close();
    throw new EnvironmentError(why);
  }

  /** Sends a message and waits for the reply. Rejects with RemoteError, or EnvironmentError if the connection is lost. */
  ask<T>(message: { readonly do: string } & Readonly<Record<string, unknown>>): Promise<T> {
    if (this.#lossReason !== undefined) return Promise.reject(new EnvironmentError(this.#lossReason));
    const id = this.#nextId++;
    return new Promise<T>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#send({ ...message, id });
    });
  }

  /** Sends a message without a reply. */
  notify(message: { readonly do: string } & Readonly<Record<string, unknown>>): void {
    this.#send(message);
  }

  /** Registers callbacks for a new remote program and returns its number. */
  program(events: ProgramEvents): number {
    const program = this.#nextId++;
    this.#programs.set(program, events);
    const lossReason = this.#lossReason;
    if (lossReason !== undefined) queueMicrotask(() => events.onExit?.(this.#ending(lossReason)));
    return program;
  }

  /** Closes the connection, which ends everything that was started through it. */
  async close(): Promise<void> {
    this.#group.child.stdin?.end();
    if ((await withDeadline(this.#group.completion, CLOSE_MS)) === "late") await this.#group.kill();
  }

  #send(message: object): void {
    if (this.#lossReason === undefined) this.#group.child.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #read(line: string): void {
    const start = line.indexOf(this.#marker);
    if (start < 0) return this.#appendOutput(`${line}\n`);
    const message = messageOf(line.slice(start + this.#marker.length));
    if (!message) return undefined;
    if (message["ready"] === true) return this.#resolveReady(message as unknown as Facts);
    if (typeof message["program"] === "number") return this.#dispatch(message["program"], message);
    const request = this.#pending.get(message["id"] as number);
    this.#pending.delete(message["id"] as number);
    if (message["ok"] === true) request?.resolve(message["result"] as never);
    else
      request?.reject(
        new RemoteError(...([message["message"], message["code"], message["path"]] as [string, string, string])),
      );
  }

  #dispatch(program: number, { line, stdout, stderr, ended: exit }: Readonly<Record<string, unknown>>): void {
    const events = this.#programs.get(program);
    if (typeof line === "string") events?.onLine?.(line);
    for (const printed of [stdout, stderr]) if (typeof printed === "string") events?.onOutput(printed);
    if (!exit) return;
    this.#programs.delete(program);
    events?.onExit?.(exit as Ending);
  }

  #appendOutput(text: string): void {
    this.#tail = (this.#tail + text).slice(-OUTPUT_TAIL);
  }

  /** Waits for the last output of a program that has ended. */
  async #waitForStreams(): Promise<void> {
    const { stdout, stderr } = this.#group.child;
    const streams = [stdout, stderr].filter((stream) => stream !== null);
    await Promise.all(streams.map((stream) => new Promise((resolve) => stream.once("close", resolve))));
  }

  #close(why: string): void {
    this.#lossReason = why;
    for (const { reject } of this.#pending.values()) reject(new EnvironmentError(why));
    for (const { onExit: ended } of this.#programs.values()) ended?.(this.#ending(why));
    this.#pending.clear();
    this.#programs.clear();
  }

  #ending(lost: string): Ending {
    return { exitCode: null, signal: null, lost };
  }

  #describeLoss({ exitCode, signal }: Ending): string {
    const last = lastLine(this.#tail);
    const how = last ?? (signal === null ? `ssh ended with exit code ${exitCode}` : `ssh was killed by ${signal}`);
    return `the connection to ${this.#options.name} was lost: ${how}`;
  }

  /** The reason why the agent never ran. */
  #whyUnreachable({ exitCode, signal, unstarted }: Ending): string {
    const { name, command } = this.#options;
    if (unstarted !== undefined) return `${command[0]} can't be started (${unstarted}); install OpenSSH's client`;
    const last = lastLine(this.#tail) ?? (signal ? `it was killed by ${signal}` : "it said nothing");
    if (exitCode === 255) return `ssh can't reach ${name}: ${last}; \`ssh ${name}\` in a terminal shows more`;
    if (exitCode === 126 || exitCode === 127)
      return `${name} has no such Python (${last}); name one that is there: --device ssh:${name}/path/to/python`;
    return `${name} ended the session with exit code ${exitCode}: ${last}`;
  }
}
