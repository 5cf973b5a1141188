/** The `tilescript` command, with a loader for the package that kernel files import. */
import { runBinary } from "./runtime/cli/cli.js";
import { terminal } from "./runtime/system/streams.js";

/** Runs the command with these arguments and returns its exit code. */
export const run = (args: readonly string[]): Promise<number> =>
  runBinary(args, terminal, () => Promise.all([import("./index.js"), import("./source/call-site-index.js")]));
