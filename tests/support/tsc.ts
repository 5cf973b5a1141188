/**
 * Runs the TypeScript compiler on source texts in a project like an author's, in which `tilescript` is this package.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

export interface TscDiagnostic {
  readonly file: string;
  /** Starts at 1. */
  readonly line: number;
  readonly code: string;
  /** The first line of the message. */
  readonly message: string;
}

/** The compiler's errors in `files`. `name` keeps the folders of concurrent tests separate. */
export function typeErrors(name: string, files: Readonly<Record<string, string>>): TscDiagnostic[] {
  const output = inProjectFolder(name, files, (folder) => tsc(["-p", folder, "--pretty", "false"]));
  return output.split("\n").flatMap((line) => {
    const match = /^(.*)\((\d+),\d+\): error (TS\d+): (.*)$/.exec(line);
    const file = Object.keys(files).find((file) => match?.[1]?.endsWith(`/${file}`));
    if (!match || !file) return [];
    // The compiler prints types that a file does not import with their absolute path.
    const message = match[4]!.replace(/import\("[^"]*\/(src\/[^"]*)"\)/g, 'import("$1")');
    return [{ file, line: Number(match[2]), code: match[3]!, message }];
  });
}

/** Calls `callback` with a project folder of `files` that extends this repository's settings. */
export function inProjectFolder<T>(
  name: string,
  files: Readonly<Record<string, string>>,
  callback: (folder: string) => T,
  compilerOptions: object = {},
): T {
  const folder = join(root, "node_modules/.cache/tilescript-types", `${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, files: Object.keys(files), include: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  try {
    return callback(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The compiler's output, with or without errors. */
export function tsc(args: readonly string[]): string {
  try {
    return execFileSync(join(root, "node_modules/.bin/tsc"), args, { encoding: "utf8", cwd: root });
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error);
  }
}
