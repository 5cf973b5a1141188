/** Errors of the user and of the machine that end a command, and their exit codes. */

export const exitCodes = { ok: 0, failed: 1, usage: 2, environment: 3 } as const;

/** The command line asks for something that does not exist. One line, without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** The machine lacks something that was asked for: a Python, a package, a GPU. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}
