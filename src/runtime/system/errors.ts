/** Errors of the user and of the machine that end a command, and their exit codes. */

export const exitCodes = { ok: 0, failed: 1, usage: 2, environment: 3 } as const;

/** An invalid command line. Reported in one line, without a stack. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/** A missing part of the machine, such as Python, a package or a GPU. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}
