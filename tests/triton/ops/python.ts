/** Runs one of the Python scripts beside this file, on a list of cases if it takes one. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { execa } from "execa";

/** A folder with ml_dtypes, which only tests need; made with pip when it is first asked for. */
export async function mlDtypes(python: string): Promise<string> {
  const folder = join(import.meta.dirname, "../../../node_modules/.cache/tilescript-ml-dtypes");
  if (!existsSync(join(folder, "ml_dtypes")))
    await execa(python, ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, "ml_dtypes==0.6.0"]);
  return folder;
}

/** What an answer of `cases.py` is where something was wrong. */
export interface CaseError {
  readonly error: string;
}

/** What the script writes to the file that it is given, as JSON. `path` is searched for modules too. */
export async function runPython<Written>(
  python: string,
  script: string,
  lines: readonly object[],
  ...path: readonly string[]
): Promise<Written> {
  const folder = mkdtempSync(join(tmpdir(), "tilescript-ops-"));
  try {
    const [from, to] = [join(folder, "in.jsonl"), join(folder, "out.jsonl")];
    writeFileSync(from, lines.map((line) => JSON.stringify(line)).join("\n"));
    const PYTHONPATH = [join(import.meta.dirname, "../../../python"), ...path].join(delimiter);
    await execa(python, [join(import.meta.dirname, script), from, to], { env: { PYTHONPATH } });
    return JSON.parse(readFileSync(to, "utf8")) as Written;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
