/** `main(import.meta, gemm)` makes a kernel file a program. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Runnable } from "../invocation/command.js";

/** The identity of a file: `import.meta`, or `module` in a CommonJS file. */
export interface FileMeta {
  readonly url?: string;
  readonly filename?: string;
}

/**
 * Runs the command line if this file is the main module. Does nothing when the file is imported.
 *
 * ```ts
 * main(import.meta, gemm); // tsx gemm.ts --run
 * ```
 */
export function main(meta: FileMeta, ...kernels: readonly Runnable[]): void {
  const program = process.argv[1];
  const file = meta.url === undefined ? meta.filename : fileURLToPath(meta.url);
  if (file === undefined || program === undefined || !isSameFile(file, program)) return;
  // Imported here, because a kernel that is only imported needs no command line.
  void import("./cli.js").then(async ({ runCli }) => {
    process.exitCode = await runCli(program, process.argv.slice(2), kernels);
  });
}

function isSameFile(a: string, b: string): boolean {
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}
