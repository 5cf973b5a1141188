/** `main(import.meta, gemm)`: what makes a kernel file a program. */
import { realpathSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Runnable } from "./cli.js";

/**
 * Runs the command line if this file is the program that was started, and does nothing when it is imported.
 *
 * ```ts
 * main(import.meta, gemm); // tsx gemm.ts --run
 * ```
 */
export function main(meta: { readonly url?: string }, ...kernels: readonly Runnable[]): void {
  const program = process.argv[1];
  if (meta.url === undefined || program === undefined || !sameFile(fileURLToPath(meta.url), program)) return;
  // Imported here: a kernel that is only imported needs no command line, and execa can't be required, which is what
  // tsx does with every static import of a file in a CommonJS package.
  void import("./cli.js").then(async ({ endOnSignals, runCli }) => {
    endOnSignals();
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
