/** Python processes that answer one JSON line with one JSON line. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { createInterface } from "node:readline";

export interface Answer {
  readonly id: string;
  readonly error?: string;
  readonly seconds?: number;
}

/** One process, started again when it dies. It says its version first. */
export class Worker {
  #child: ChildProcessWithoutNullStreams | undefined;
  #settle: ((line: string | undefined) => void) | undefined;
  version = "";

  constructor(
    readonly python: string,
    readonly script: string,
    readonly env: Readonly<Record<string, string>> = {},
  ) {}

  /** The answer to a job. A process that dies over it is an answer too. */
  async ask(job: { readonly id: string }): Promise<Answer> {
    if (!this.#child) await this.#start();
    const line = await this.#line(() => this.#child!.stdin.write(`${JSON.stringify(job)}\n`));
    return line === undefined ? { id: job.id, error: "Triton ended the process" } : (JSON.parse(line) as Answer);
  }

  async #start(): Promise<void> {
    const child = spawn(this.python, ["-W", "ignore", this.script], {
      env: { ...process.env, ...this.env, PYTHONDONTWRITEBYTECODE: "1" },
    });
    this.#child = child;
    child.stderr.resume();
    child.stdin.on("error", () => {});
    createInterface(child.stdout).on("line", (line) => this.#settle?.(line));
    child.on("exit", () => {
      if (this.#child === child) this.#child = undefined;
      this.#settle?.(undefined);
    });
    const first = await this.#line(() => {});
    if (first === undefined) throw new Error(`${this.python} ${this.script} did not start`);
    this.version = (JSON.parse(first) as { triton: string }).triton;
  }

  #line(start: () => void): Promise<string | undefined> {
    return new Promise((resolve) => {
      this.#settle = (line) => {
        this.#settle = undefined;
        resolve(line);
      };
      start();
    });
  }

  close(): void {
    this.#child?.stdin.end();
    this.#child = undefined;
  }
}

/** Gives each job to the next free worker. `next` returns undefined after the last job. */
export async function distribute<T>(
  workers: readonly Worker[],
  next: () => T | undefined,
  run: (worker: Worker, job: T) => Promise<void>,
): Promise<void> {
  await Promise.all(
    workers.map(async (worker) => {
      for (let job = next(); job !== undefined; job = next()) await run(worker, job);
    }),
  );
}
