/** Packages that the command writes into a folder, and Python to ask about them. */
import { execa } from "execa";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { CompiledKernel } from "../../../src/compiled/compiled-kernel.js";
import { runCli } from "../../../src/runtime/cli/cli.js";
import { requirePython } from "../../support/python.js";

export const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), "tilescript-package-"));

/** Runs the command; gives what it says. */
export async function packaged(out: string, kernels: readonly CompiledKernel[], ...args: readonly string[]) {
  let [said, err] = ["", ""];
  const streams = { out: (text: string) => (said += text), err: (text: string) => (err += text), color: false };
  const runnables = kernels.map((kernel) => ({ name: kernel.signature.name, compile: async () => kernel }));
  const code = await runCli("kernels.ts", ["--package", out, ...args], runnables, streams);
  return { code, err, files: Array.from(said.matchAll(/^wrote (.*)$/gm), ([, file]) => file!) };
}

/** Runs Python; gives its exit code and what it printed. */
export async function python(args: readonly string[], env: Readonly<Record<string, string>>) {
  const options = { env: { PYTHONDONTWRITEBYTECODE: "1", ...env }, all: true, reject: false } as const;
  const { exitCode, all } = await execa(await requirePython(), args, options);
  return { exitCode, all };
}

/** Runs the tests that a package has of itself, or those of these names, without `test_`. */
export const runTests = (folder: string, env: Readonly<Record<string, string>>, names: readonly string[] = []) =>
  python(
    ["-m", "unittest", "discover", join(folder, "tests"), ...names.flatMap((name) => ["-k", `*.test_${name}`])],
    env,
  );
