/** Runs a program that may print without end, never end, or leave others behind. */
import { withDeadline } from "./deadline.js";
import { type Ending, Group } from "./process-group.js";

export interface ProgramOptions {
  /** The whole environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** After so many milliseconds it is stopped. */
  readonly deadlineMs: number;
  /** Receives the output of both streams as it comes. */
  readonly onOutput?: (text: string) => void;
}

export interface ProgramResult extends Ending {
  /** The end of each stream. */
  readonly stdout: string;
  readonly stderr: string;
  /** Whether it was stopped at the deadline. */
  readonly late: boolean;
}

const KEPT = 1 << 20;
/** What a program that has ended wrote is read within this time, unless a process that it left behind writes more. */
const REST_MS = 1_000;

/** Runs a program without standard input. Never rejects. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { env = process.env, deadlineMs, onOutput }: ProgramOptions,
): Promise<ProgramResult> {
  const group = new Group(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const kept = { stdout: "", stderr: "" };
  const read = (["stdout", "stderr"] as const).map(async (name) => {
    const stream = group.child?.[name];
    stream?.setEncoding("utf8").on("data", (text: string) => {
      kept[name] = (kept[name] + text).slice(-KEPT);
      onOutput?.(text);
    });
    await new Promise((resolve) => (stream ? stream.once("close", resolve) : resolve(undefined)));
  });
  const late = (await withDeadline(group.ended, deadlineMs)) === "late";
  if (!late) await withDeadline(Promise.all(read), REST_MS);
  return { ...(await group.kill()), ...kept, late };
}

/** The last line that says something: Python's report of a fatal error ends with a stack, or with none. */
export function lastLine(text: string): string | undefined {
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => /^\S.*[^:]$/.test(line)) ?? lines.at(-1))?.trim();
}
