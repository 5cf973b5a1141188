/** The `tilescript` command for many calls: processes that stay, since starting one costs more than most of the calls. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Call {
  readonly cwd: string;
  /** The whole environment of the call. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly args: readonly string[];
}

export interface Answer {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

const script = fileURLToPath(new URL("resident-cli.mjs", import.meta.url));

/** One process for calls, one at a time. It starts with the first; a call that ends it gets its exit code. */
class Resident {
  #child: ChildProcess | undefined;
  #last: Promise<unknown> = Promise.resolve();
  waiting = 0;

  ask(call: Call): Promise<Answer> {
    this.waiting++;
    const answer = this.#last.then(() => this.#answer(call));
    this.#last = answer.catch(() => undefined).finally(() => this.waiting--);
    return answer;
  }

  async #answer(call: Call): Promise<Answer> {
    if (!this.#child) {
      this.#child = fork(script, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      await once(this.#child, "message");
    }
    const child = this.#child;
    child.send(call);
    return await new Promise<Answer>((resolve) => {
      const onMessage = (answer: unknown): void => {
        child.off("exit", onExit);
        resolve(answer as Answer);
      };
      const onExit = (code: number | null): void => {
        child.off("message", onMessage);
        this.#child = undefined;
        resolve({ exitCode: code ?? undefined, stdout: "", stderr: "the process ended" });
      };
      child.once("message", onMessage).once("exit", onExit);
    });
  }

  close(): void {
    this.#child?.removeAllListeners().kill();
  }
}

const residents = [new Resident(), new Resident()];

/** What the command says to a call. */
export function tilescript(call: Call): Promise<Answer> {
  return residents.toSorted((a, b) => a.waiting - b.waiting)[0]!.ask(call);
}

export function closeResidents(): void {
  for (const resident of residents) resident.close();
}
