/** The output of a command: results go to standard output, messages to standard error. */
import { jsonText } from "../../compiled/canonical-json.js";
import pc from "picocolors";
import { writeProblem } from "./files.js";
import { exitCodes } from "./errors.js";

export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
  /** True if standard error is a terminal, which can show progress. */
  readonly live?: boolean;
  /** The width of standard output in columns, for the help. */
  readonly width?: number;
}

const writeOut = process.stdout.write.bind(process.stdout);

export const terminal: Streams = {
  out: (text) => void writeOut(text),
  err: (text) => void process.stderr.write(text),
  color: pc.isColorSupported && process.stdout.isTTY === true,
  live: process.stderr.isTTY === true && process.env["TERM"] !== "dumb",
  width: process.stdout.columns,
};

/** Ends the process when standard output cannot be written: silently if its reader closed the pipe, as `head` does. */
export function watchOutput(): void {
  process.stdout.once("error", ({ code }: NodeJS.ErrnoException) => {
    if (code === "EPIPE") process.exit(exitCodes.ok);
    process.stderr.write(`error environment: ${writeProblem("standard output", code)}\n`);
    process.exit(exitCodes.environment);
  });
}

/**
 * Redirects other writes to standard output, such as a `console.log` in a kernel file, to standard error, because
 * standard output is a module or a JSON document. Returns a function that restores standard output.
 */
export function redirectStdout(): () => void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
  return () => void (process.stdout.write = writeOut);
}

/** Returns a function that replaces the progress line; an empty text removes it. */
export function progress(streams: Streams): (text: string) => void {
  return streams.live ? (text) => streams.err(`\r\u001b[2K${text}`) : () => undefined;
}

export function printJson(streams: Streams, report: object): void {
  streams.out(`${jsonText(report, 2)}\n`);
}
