/** The `tilescript` command for many calls: resident processes, because starting one takes longer than most calls. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export interface Call {
  readonly cwd: string;
  /** The complete environment of the call. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly args: readonly string[];
}

export interface CallResult {
  readonly exitCode: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

const script = fileURLToPath(new URL("resident-cli.mjs", import.meta.url));

/**
 * A process that runs calls sequentially. It starts with the first call. A call that ends the process returns its exit
 * code.
 */
class ResidentProcess {
  #child: ChildProcess | undefined;
  #queue: Promise<unknown> = Promise.resolve();
  pendingCount = 0;

  call(call: Call): Promise<CallResult> {
    this.pendingCount++;
    const answer = this.#queue.then(() => this.#send(call));
    this.#queue = answer.catch(() => undefined).finally(() => this.pendingCount--);
    return answer;
  }

  async #send(call: Call): Promise<CallResult> {
    if (!this.#child) {
      this.#child = fork(script, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
      await once(this.#child, "message");
    }
    const child = this.#child;
    child.send(call);
    return await new Promise<CallResult>((resolve) => {
      const onMessage = (answer: unknown): void => {
        child.off("exit", onExit);
        resolve(answer as CallResult);
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

const residents = [new ResidentProcess(), new ResidentProcess()];

/** Runs the command in the process with the shortest queue. */
export function tilescript(call: Call): Promise<CallResult> {
  return residents.toSorted((a, b) => a.pendingCount - b.pendingCount)[0]!.call(call);
}

export function closeResidents(): void {
  for (const resident of residents) resident.close();
}
