/** Runs one of the Python scripts beside this file on a list of cases. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";

/** What the script writes to the file that it is given. */
export async function runPython(python: string, script: string, lines: readonly object[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-ops-"));
  try {
    const [from, to] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    writeFileSync(from, lines.map((line) => JSON.stringify(line)).join("\n"));
    await execa(python, [join(import.meta.dirname, script), from, to]);
    return readFileSync(to, "utf8");
  } finally {
    rmSync(folder, { recursive: true });
  }
}
