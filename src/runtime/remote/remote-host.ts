/** A remote machine behind a connection. The worker's files are copied there once. */
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { PassThrough } from "node:stream";
import {
  type Host,
  type UploadedFile,
  type RunOptions,
  type LinkOptions,
  workerArguments,
  type WorkerLink,
  pythonFolder,
} from "../worker/host.js";
import { writeProblem, cacheFolder } from "../system/files.js";
import { EnvironmentError } from "../system/errors.js";
import { type ProgramResult, withDeadline, type Ending, loadExeca } from "../system/processes.js";
import { Connection, type Facts, RemoteError } from "./connection.js";
import { addressText, agentCommand, destination, type SshAddress, sshCommand } from "./addresses.js";

/** The number of characters of a program's output to keep. */
const OUTPUT_LIMIT = 1 << 20;

export class RemoteHost implements Host {
  readonly name: string;
  readonly device: string;
  readonly shell: readonly string[];
  readonly #address: SshAddress;
  readonly #connection: Connection;
  readonly #facts: Facts;
  readonly #folder: string;

  private constructor(address: SshAddress, connection: Connection, facts: Facts, folder: string) {
    this.name = addressText(address);
    this.device = `ssh:${this.name}`;
    this.#address = address;
    this.shell = ["ssh", "-t", ...destination(address)];
    this.#connection = connection;
    this.#facts = facts;
    this.#folder = folder;
  }

  /** Connects, and copies the worker's files unless they are already there. Throws EnvironmentError. */
  static async open(
    address: SshAddress,
    options: { readonly background?: boolean | undefined } = {},
  ): Promise<RemoteHost> {
    const name = addressText(address);
    const files = workerFiles();
    const agent = files["tilescript_worker/agent.py"]!;
    const command = sshCommand(address, agentCommand(address.python));
    await loadExeca();
    const connection = new Connection({ name, command, agent, ...options });
    const facts = await connection.ready();
    const key = keyOfFiles(files);
    const folder = posix.join(cacheFolder(facts.env, facts.home), "worker", key.slice(0, 16));
    const host = new RemoteHost(address, connection, facts, folder);
    try {
      if (!(await connection.ask({ do: "has", folder, key }))) await connection.ask({ do: "keep", folder, files });
    } catch (error) {
      await connection.close();
      throw host.#toWriteError(error, "XDG_CACHE_HOME");
    }
    return host;
  }

  copy(folder: string): readonly string[] {
    const { port, user, host } = this.#address;
    const name = `${user === undefined ? "" : `${user}@`}${host.includes(":") ? `[${host}]` : host}`;
    return ["scp", "-r", ...(port === undefined ? [] : ["-P", String(port)]), "--", `${name}:${folder}`];
  }

  get cores(): number {
    return this.#facts.cores;
  }

  get platform(): string {
    return this.#facts.platform;
  }

  get home(): string {
    return this.#facts.home;
  }

  get env(): NodeJS.ProcessEnv {
    return this.#facts.env;
  }

  get lossReason(): string | undefined {
    return this.#connection.lossReason;
  }

  ask<T>(message: { readonly do: string } & Readonly<Record<string, unknown>>): Promise<T> {
    return this.#connection.ask<T>(message).catch((error: unknown) => {
      throw this.#toWriteError(error, "XDG_CACHE_HOME");
    });
  }

  get folder(): string {
    return this.#folder;
  }

  startWorker(options: LinkOptions): WorkerLink {
    return new RemoteLink(this.#connection, options, this.#pythonEnv());
  }

  async run(
    command: string,
    args: readonly string[],
    { env, deadlineMs, onOutput }: RunOptions,
  ): Promise<ProgramResult> {
    let printed = "";
    const program = this.#connection.program({
      onOutput: (text) => {
        printed = (printed + text).slice(-OUTPUT_LIMIT);
        onOutput?.(text);
      },
    });
    const message = { do: "run", program, command, arguments: args, env: { ...this.#pythonEnv(), ...env } };
    const ending = await withDeadline(this.#connection.ask<Ending>(message), deadlineMs);
    if (ending === "late") this.#connection.notify({ do: "kill", program, id: 0 });
    const exit = ending === "late" ? { exitCode: null, signal: "SIGKILL" as const } : ending;
    return { ...exit, stdout: printed, stderr: printed, late: ending === "late" };
  }

  exists(path: string): Promise<boolean> {
    return this.#connection.ask({ do: "exists", path });
  }

  async upload(name: string, text: string): Promise<UploadedFile> {
    const path = await this.#connection.ask<string>({ do: "place", name, text }).catch((error: unknown) => {
      throw this.#toWriteError(error, "TMPDIR");
    });
    // If the connection is lost, the agent deletes the file.
    const remove = () => this.#connection.ask<void>({ do: "remove", path: posix.dirname(path) }).catch(() => undefined);
    return { path, remove };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #pythonEnv(): Readonly<Record<string, string>> {
    const path = [this.#folder, this.#facts.env["PYTHONPATH"]].filter(Boolean).join(":");
    return { PYTHONPATH: path, PYTHONDONTWRITEBYTECODE: "1" };
  }

  /** Converts a failed remote write to an EnvironmentError with the remote variable that changes the folder. */
  #toWriteError(error: unknown, variable: string): unknown {
    if (!(error instanceof RemoteError)) return error;
    const problem = writeProblem(error.path || this.#folder, error.code || error.message);
    return new EnvironmentError(`on ${this.name}, ${problem}; ${variable} there names it`);
  }
}

class RemoteLink implements WorkerLink {
  readonly pid = undefined;
  readonly completion: Promise<Ending>;
  readonly lines: AsyncIterator<string>;
  readonly #connection: Connection;
  readonly #program: number;
  #ending: Ending | undefined;

  constructor(connection: Connection, { python, device, gpu, onPrinted }: LinkOptions, env: object) {
    this.#connection = connection;
    const lines = new PassThrough({ objectMode: true });
    this.lines = lines[Symbol.asyncIterator]();
    let end: (ending: Ending) => void = () => undefined;
    this.completion = new Promise((resolve) => (end = resolve));
    this.#program = connection.program({
      onLine: (text) => void lines.write(text),
      onOutput: onPrinted,
      onExit: (ending) => {
        this.#ending = ending;
        lines.end();
        end(ending);
      },
    });
    const message = {
      do: "start",
      program: this.#program,
      command: python,
      arguments: workerArguments({ device, gpu }, null),
      env,
    };
    // If the connection is lost, the program has ended.
    connection.ask(message).catch(() => undefined);
  }

  get ending(): Ending | undefined {
    return this.#ending;
  }

  send(line: string): void {
    this.#connection.notify({ do: "line", program: this.#program, line });
  }

  /** The agent kills it when the connection ends. */
  markSelfWatching(): void {}

  kill(): Promise<Ending> {
    if (!this.#ending) this.#connection.notify({ do: "kill", program: this.#program, id: 0 });
    return this.completion;
  }
}

type FileTexts = Readonly<Record<string, string>>;

/** The files of this package that a remote machine needs, by path below `python`. */
function workerFiles(): FileTexts {
  const names = readdirSync(pythonFolder, { recursive: true, encoding: "utf8" })
    .map((name) => name.replaceAll("\\", "/"))
    .filter((name) => /^(?:tilescript_worker\/)?\w+\.(?:py|lock)$/.test(name));
  return Object.fromEntries(names.sort().map((name) => [name, readFileSync(join(pythonFolder, name), "utf8")]));
}

/** The hash of the files. The agent computes the same hash from its copy. */
function keyOfFiles(files: FileTexts): string {
  const digest = createHash("sha256");
  for (const [name, text] of Object.entries(files)) {
    const data = Buffer.from(text);
    digest.update(`${name}\0${data.length}\0`).update(data);
  }
  return digest.digest("hex");
}
