/** The output of a command: results go to standard output, messages to standard error. */
import { jsonText } from "../../compiled/canonical-json.js";
import { writeProblem } from "./files.js";
import { exitCodes } from "./errors.js";

export interface Streams {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly color: boolean;
  /** True if messages on standard error are colored. */
  readonly errColor?: boolean;
  /** True if standard error is a terminal, which can show progress. */
  readonly live?: boolean;
  /** Replaces the progress line; an empty text removes it. */
  readonly progress?: (text: string) => void;
  /** The width of standard output in columns, for the help. */
  readonly width?: number;
}

const writeOut = process.stdout.write.bind(process.stdout);

const isTerminal = ({ isTTY }: NodeJS.WriteStream): boolean => isTTY === true && process.env["TERM"] !== "dumb";
const isColored = (stream: NodeJS.WriteStream): boolean => isTerminal(stream) && !process.env["NO_COLOR"];

export const terminal: Streams = {
  out: (text) => void writeOut(text),
  err: (text) => void process.stderr.write(text),
  color: isColored(process.stdout),
  errColor: isColored(process.stderr),
  live: isTerminal(process.stderr),
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

const CLEAR_LINE = "\r\u001b[2K";

/** The streams with a progress line on a terminal. Any other output removes the line first. */
export function withProgress(to: Streams): Streams {
  if (!to.live) return to;
  const maxLength = (to.width || 80) - 1;
  // The start of the program may have left a line.
  let isShown = true;
  const show = (text: string): void => {
    if (isShown || text !== "") to.err(`${CLEAR_LINE}${text.slice(0, maxLength)}`);
    isShown = text !== "";
  };
  const after = (write: (text: string) => void) => (text: string) => {
    show("");
    write(text);
  };
  return { ...to, out: after(to.out), err: after(to.err), progress: show };
}

/** Returns the function that shows progress. It does nothing unless standard error is a terminal. */
export function progress({ progress: show }: Streams): (text: string) => void {
  return show ?? (() => undefined);
}

export function printJson(streams: Streams, report: object): void {
  streams.out(`${jsonText(report, 2)}\n`);
}
