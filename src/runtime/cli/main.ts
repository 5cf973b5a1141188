/** `main(import.meta, gemm)`: what makes a kernel file a program. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Runnable } from "../invocation/command.js";

/** How a file identifies itself: `import.meta`, or `module` in a CommonJS file. */
export interface FileMeta {
  readonly url?: string;
  readonly filename?: string;
}

/**
 * Runs the command line if this file is the program that was started, and does nothing when it is imported.
 *
 * ```ts
 * main(import.meta, gemm); // tsx gemm.ts --run
 * ```
 */
export function main(meta: FileMeta, ...kernels: readonly Runnable[]): void {
  const program = process.argv[1];
  const file = meta.url === undefined ? meta.filename : fileURLToPath(meta.url);
  if (file === undefined || program === undefined || !sameFile(file, program)) return;
  // Imported here, because a kernel that is only imported needs no command line.
  void import("./cli.js").then(async ({ runCli }) => {
    process.exitCode = await runCli(program, process.argv.slice(2), kernels);
  });
}

function sameFile(left: string, right: string): boolean {
  try {
    return realpathSync(left) === realpathSync(right);
  } catch {
    return false;
  }
}
