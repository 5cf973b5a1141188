/** Runs a program with limits on its time and its output. */
import { withDeadline } from "./deadline.js";
import { type Ending, loadExeca, ProcessGroup } from "./process-group.js";

/** Quotes a shell word if necessary, for command lines that users copy. */
export function shellWord(text: string): string {
  return /^(?!~)[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

export interface ProgramOptions {
  /** The complete environment. Default: that of this process. */
  readonly env?: NodeJS.ProcessEnv;
  /** Kills the program after this time. */
  readonly deadlineMs: number;
  /** Receives chunks of both streams. */
  readonly onOutput?: (text: string) => void;
}

export interface ProgramResult extends Ending {
  /** The end of the stream, up to 1 MiB. */
  readonly stdout: string;
  readonly stderr: string;
  /** True if the program was killed at the deadline. */
  readonly late: boolean;
}

const OUTPUT_LIMIT = 1 << 20;
/** Limit for reading the remaining output of a program that has ended. Its descendants may keep the streams open. */
const DRAIN_MS = 1_000;

/** Runs a program without standard input. Never rejects. */
export async function runProgram(
  command: string,
  args: readonly string[],
  { env = process.env, deadlineMs, onOutput }: ProgramOptions,
): Promise<ProgramResult> {
  await loadExeca();
  const group = new ProcessGroup(command, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  const output = { stdout: "", stderr: "" };
  const reads = (["stdout", "stderr"] as const).map(async (name) => {
    const stream = group.child[name];
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output[name] = (output[name] + text).slice(-OUTPUT_LIMIT);
      onOutput?.(text);
    });
    await new Promise((resolve) => (stream ? stream.once("close", resolve) : resolve(undefined)));
  });
  const late = (await withDeadline(group.completion, deadlineMs)) === "late";
  if (!late) await withDeadline(Promise.all(reads), DRAIN_MS);
  return { ...(await group.kill()), ...output, late };
}

/** The last line with a message. Python's report of a fatal error may end with a stack. */
export function lastLine(text: string): string | undefined {
  const lines = text.trim().split("\n");
  return (lines.findLast((line) => /^\S.*[^:]$/.test(line)) ?? lines.at(-1))?.trim();
}
