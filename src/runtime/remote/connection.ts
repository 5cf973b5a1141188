/** A connection to `python/tilescript_worker/agent.py` on another machine: messages through a program's streams. */
import { randomBytes } from "node:crypto";
import { createInterface } from "node:readline";
import { withDeadline } from "../system/deadline.js";
import { type Ending, Group } from "../system/process-group.js";
import { EnvironmentError } from "../system/errors.js";
import { lastLine } from "../system/run-program.js";

export interface ConnectionOptions {
  /** The machine in messages. */
  readonly name: string;
  /** The program whose streams lead there, and its arguments. */
  readonly command: readonly [string, ...string[]];
  /** The agent's source. */
  readonly agent: string;
  /** Lets this process end while the connection is open. */
  readonly background?: boolean | undefined;
}

/** What the agent says of its machine. */
export interface Facts {
  readonly home: string;
  readonly env: Readonly<Record<string, string>>;
  readonly cores: number;
  readonly platform: string;
}

/** What a program there does. */
export interface ProgramEvents {
  line?(text: string): void;
  printed(text: string): void;
  ended?(ending: Ending): void;
}

/** What the agent refuses, with the system's code. */
export class RemoteError extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly path: string,
  ) {
    super(message);
  }
}

/** Jump hosts and keys on a token take their time. */
const START_MS = 60_000;
const ALIVE_MS = 20_000;
/** A connection that was closed ends within this time. */
const REST_MS = 2_000;
const TAIL = 4_000;

interface Asked {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** A message; undefined for the first half of one, which a connection that breaks leaves. */
function messageOf(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>;
  } catch {
    return undefined;
  }
}

export class Connection {
  readonly #options: ConnectionOptions;
  readonly #group: Group;
  /** Every message of the agent begins with it: whatever else arrives was printed by a login. */
  readonly #word = randomBytes(12).toString("hex");
  readonly #asked = new Map<number, Asked>();
  readonly #programs = new Map<number, ProgramEvents>();
  #next = 1;
  #tail = "";
  #lost: string | undefined;
  #becomesReady: (facts: Facts) => void = () => undefined;
  readonly #ready = new Promise<Facts>((resolve) => void (this.#becomesReady = resolve));

  constructor(options: ConnectionOptions) {
    this.#options = options;
    const [program, ...args] = options.command;
    const group = new Group(program, args, { env: process.env, stdio: ["pipe", "pipe", "pipe"] });
    this.#group = group;
    const { child } = group;
    child?.stdin?.on("error", () => undefined);
    child?.stderr?.setEncoding("utf8").on("data", (text: string) => this.#note(text));
    if (child?.stdout) createInterface({ input: child.stdout }).on("line", (line) => this.#read(line));
    void group.ended.then((ending) => withDeadline(this.#drained(), 500).then(() => this.#lose(this.#epitaph(ending))));
    const source = Buffer.from(options.agent);
    child?.stdin?.write(Buffer.concat([Buffer.from(`${source.length}\n`), source, Buffer.from(`${this.#word}\n`)]));
    const beat = setInterval(() => this.#send({ do: "alive", id: 0 }), ALIVE_MS);
    beat.unref();
    void group.ended.then(() => clearInterval(beat));
    if (options.background)
      for (const held of [child, ...(child?.stdio ?? [])]) (held as { unref?: () => void } | null)?.unref?.();
  }

  /** Why there is no connection any more. */
  get lost(): string | undefined {
    return this.#lost;
  }

  /** Waits until the agent runs. Throws EnvironmentError. */
  async ready(): Promise<Facts> {
    const facts = await withDeadline(Promise.race([this.#ready, this.#group.ended.then(() => undefined)]), START_MS);
    if (facts !== undefined && facts !== "late") {
      // When this process ends, its end of the connection is closed, and the agent ends with all that it started.
      this.#group.watchesItself();
      return facts;
    }
    const { name } = this.#options;
    const why =
      facts === "late"
        ? `${name} did not answer within ${START_MS / 1000} s; \`ssh ${name}\` in a terminal shows what it asks for`
        : this.#refused(await this.#group.ended);
    await this.close();
    throw new EnvironmentError(why);
  }

  /** Sends a message and waits for its answer. Rejects with RemoteError, or EnvironmentError if the connection is lost. */
  ask<T>(message: { readonly do: string } & Readonly<Record<string, unknown>>): Promise<T> {
    if (this.#lost !== undefined) return Promise.reject(new EnvironmentError(this.#lost));
    const id = this.#next++;
    return new Promise<T>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      this.#send({ ...message, id });
    });
  }

  /** Sends a message that has no answer. */
  tell(message: { readonly do: string } & Readonly<Record<string, unknown>>): void {
    this.#send(message);
  }

  /** A number for a program there, whose events go to `events`. */
  program(events: ProgramEvents): number {
    const number = this.#next++;
    this.#programs.set(number, events);
    if (this.#lost !== undefined) queueMicrotask(() => events.ended?.(this.#ending(this.#lost!)));
    return number;
  }

  /** Ends the connection, and so whatever was started through it. */
  async close(): Promise<void> {
    this.#group.child?.stdin?.end();
    if ((await withDeadline(this.#group.ended, REST_MS)) === "late") await this.#group.kill();
  }

  #send(message: object): void {
    if (this.#lost === undefined) this.#group.child?.stdin?.write(`${JSON.stringify(message)}\n`);
  }

  #read(line: string): void {
    const start = line.indexOf(this.#word);
    if (start < 0) return this.#note(`${line}\n`);
    const message = messageOf(line.slice(start + this.#word.length));
    if (!message) return undefined;
    if (message["ready"] === true) return this.#becomesReady(message as unknown as Facts);
    if (typeof message["program"] === "number") return this.#happened(message["program"], message);
    const asked = this.#asked.get(message["id"] as number);
    this.#asked.delete(message["id"] as number);
    if (message["ok"] === true) asked?.resolve(message["result"] as never);
    else
      asked?.reject(
        new RemoteError(...([message["message"], message["code"], message["path"]] as [string, string, string])),
      );
  }

  #happened(number: number, { line, stdout, stderr, ended }: Readonly<Record<string, unknown>>): void {
    const events = this.#programs.get(number);
    if (typeof line === "string") events?.line?.(line);
    for (const printed of [stdout, stderr]) if (typeof printed === "string") events?.printed(printed);
    if (!ended) return;
    this.#programs.delete(number);
    events?.ended?.(ended as Ending);
  }

  #note(text: string): void {
    this.#tail = (this.#tail + text).slice(-TAIL);
  }

  /** Waits for what a program that has ended wrote last. */
  async #drained(): Promise<void> {
    const streams = [this.#group.child?.stdout, this.#group.child?.stderr];
    await Promise.all(streams.map((stream) => stream && new Promise((resolve) => stream.once("close", resolve))));
  }

  #lose(why: string): void {
    this.#lost = why;
    for (const { reject } of this.#asked.values()) reject(new EnvironmentError(why));
    for (const { ended } of this.#programs.values()) ended?.(this.#ending(why));
    this.#asked.clear();
    this.#programs.clear();
  }

  #ending(lost: string): Ending {
    return { exitCode: null, signal: null, lost };
  }

  #epitaph({ exitCode, signal }: Ending): string {
    const last = lastLine(this.#tail);
    const how = last ?? (signal === null ? `ssh ended with exit code ${exitCode}` : `ssh was killed by ${signal}`);
    return `the connection to ${this.#options.name} was lost: ${how}`;
  }

  /** Why the agent never ran. */
  #refused({ exitCode, signal, unstarted }: Ending): string {
    const { name, command } = this.#options;
    if (unstarted !== undefined) return `${command[0]} can't be started (${unstarted}); install OpenSSH's client`;
    const last = lastLine(this.#tail) ?? (signal ? `it was killed by ${signal}` : "it said nothing");
    if (exitCode === 255) return `ssh can't reach ${name}: ${last}; \`ssh ${name}\` in a terminal shows more`;
    if (exitCode === 126 || exitCode === 127)
      return `${name} has no such Python (${last}); name one that is there: --device ssh:${name}/path/to/python`;
    return `${name} ended the session with exit code ${exitCode}: ${last}`;
  }
}
