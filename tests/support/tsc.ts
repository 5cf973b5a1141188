/** Runs the TypeScript compiler on sources that are text, as an author's project would: `tilescript` is this package. */
import { execFileSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

export interface TscDiagnostic {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  readonly code: string;
  /** The first line: what an editor shows first. */
  readonly message: string;
}

/** What the compiler says about `files`, and about nothing else. `name` keeps the folders of two tests apart. */
export function complaints(name: string, files: Readonly<Record<string, string>>): TscDiagnostic[] {
  const output = inFolder(name, files, (folder) => tsc(["-p", folder, "--pretty", "false"]));
  return output.split("\n").flatMap((line) => {
    const match = /^(.*)\((\d+),\d+\): error (TS\d+): (.*)$/.exec(line);
    const file = Object.keys(files).find((file) => match?.[1]?.endsWith(`/${file}`));
    if (!match || !file) return [];
    // Types that a file does not import are named by the path of their own.
    const message = match[4]!.replace(/import\("[^"]*\/(src\/[^"]*)"\)/g, 'import("$1")');
    return [{ file, line: Number(match[2]), code: match[3]!, message }];
  });
}

/** Gives `act` a project of `files`, which has the settings of this one. */
export function inFolder<T>(
  name: string,
  files: Readonly<Record<string, string>>,
  act: (folder: string) => T,
  compilerOptions: object = {},
): T {
  const folder = join(root, "node_modules/.cache/tilescript-types", `${name}-${process.pid}`);
  mkdirSync(folder, { recursive: true });
  const config = { extends: join(root, "tsconfig.json"), compilerOptions, files: Object.keys(files), include: [] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  try {
    return act(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The compiler's output, whether it is content or not. */
export function tsc(args: readonly string[]): string {
  try {
    return execFileSync(join(root, "node_modules/.bin/tsc"), args, { encoding: "utf8", cwd: root });
  } catch (error) {
    return (error as { stdout?: string }).stdout ?? String(error);
  }
}
