/** The output of a command: results go to standard output, everything else to standard error. */
import pc from "picocolors";
import { writeProblem } from "./files.js";
import { exitCodes } from "./problems.js";

export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
  /** Whether standard error is a terminal, which can show a line of progress. */
  readonly live?: boolean;
  /** The width of standard output in columns, for help. */
  readonly width?: number;
}

export const terminal: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  color: pc.isColorSupported && process.stdout.isTTY === true,
  live: process.stderr.isTTY === true && process.env["TERM"] !== "dumb",
  width: process.stdout.columns,
};

/** Ends the process when standard output can't be written: silently if its reader has left, as `head` does. */
export function watchOutput(): void {
  process.stdout.once("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(exitCodes.ok);
    process.stderr.write(`error environment: ${writeProblem("standard output", code)}\n`);
    process.exit(exitCodes.environment);
  });
}

/** Returns a function that replaces the line of progress; an empty text removes it. */
export function progress(streams: Streams): (text: string) => void {
  return streams.live ? (text) => streams.err(`\r\u001b[2K${text}`) : () => undefined;
}

/** Prints a report as JSON. */
export function printJson(streams: Streams, report: object): void {
  streams.out(`${JSON.stringify(report, null, 2)}\n`);
}
