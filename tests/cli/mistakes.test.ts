/** Each wrong use has its message and its exit code; nobody sees a stack, a traceback or a path of ours. */
import { execa } from "execa";
import { mkdtemp, realpath, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, describe, expect, it } from "vitest";
import { sampledTests } from "../support/sampled-tests.js";
import { requirePython } from "../support/python.js";
import { binary, installInto } from "../support/installed.js";
import { type CallResult, type Call, closeResidents, tilescript } from "../support/resident-cli.js";
import { commandLine } from "./mistakes/command-line.js";
import { kernelFiles } from "./mistakes/kernel-files.js";
import { semantics } from "./mistakes/kernels.js";
import { machine } from "./mistakes/machine.js";
import { add, type Mistake } from "./mistakes/mistake.js";
import { outputs } from "./mistakes/outputs.js";
import { specs } from "./mistakes/specs.js";

sampledTests("mistakes of users", "src/diagnostics");

const root = fileURLToPath(new URL("../../", import.meta.url));

const tables: Readonly<Record<string, readonly Mistake[]>> = {
  "on the command line": commandLine,
  "where output goes": outputs,
  "in a kernel file": kernelFiles,
  "in a kernel": semantics,
  "in a spec": specs,
  "of the machine": machine,
};

/** A project whose `tilescript` is this one, with the mistake in it. */
async function project({ file = add(), beside = {} }: Mistake): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "tilescript-mistake-")));
  installInto(folder);
  for (const [name, text] of Object.entries({ "kernel.ts": file, ...beside }))
    await writeFile(join(folder, name), text);
  return folder;
}

/** The traceback of an author's Python is in the report, for programs; text has it with --verbose. */
const withoutRaw = (key: string, value: unknown): unknown => (key === "raw" ? undefined : value);

/** The command as a user starts it. */
async function inProcess({ cwd, env, args }: Call): Promise<CallResult> {
  const options = { cwd, env, extendEnv: false, reject: false, timeout: 100_000 } as const;
  const { exitCode, stdout, stderr } = await execa(process.execPath, [binary, ...args], options);
  return { exitCode, stdout, stderr };
}

afterAll(closeResidents);

describe.each(Object.entries(tables))("a mistake %s", { timeout: 120_000 }, (_, table) => {
  it.concurrent.each(table)("$title: code $code", async (mistake) => {
    const folder = await project(mistake);
    const args = mistake.args.split(" ").map((word) => (word === "FILE" ? "kernel.ts" : word));
    const env = {
      PATH: process.env["PATH"],
      HOME: folder,
      TILESCRIPT_PYTHON: await requirePython(),
      ...mistake.env,
    };
    const words = [...args, ...(args.includes("--json") ? [] : ["--json"])];
    const ran = await (mistake.process ? inProcess : tilescript)({ cwd: folder, env, args: words });
    const said = ran.stdout + ran.stderr;
    expect({ code: ran.exitCode, said }).toEqual({ code: mistake.code, said: expect.stringContaining(mistake.says) });
    if (mistake.line !== undefined)
      expect(said).toMatch(new RegExp(`kernel\\.ts:${mistake.line}:|"line": ${mistake.line},`));
    // The report is of the form that programs read, and text has no colors where nobody looks.
    const report = JSON.parse(ran.stdout, withoutRaw) as { ok?: boolean; correct?: boolean };
    expect(report.ok ?? report.correct).toBe(mistake.code === 0);
    expect(said).not.toContain("\u001b");
    // Neither side's inside shows.
    for (const text of [ran.stderr, JSON.stringify(report)]) {
      expect(text).not.toMatch(/(^|\n|\\n)\s+at |Traceback|node:internal|node_modules/);
      expect(text).not.toMatch(new RegExp(`${root}(src|dist)`));
    }
    if (mistake.code === 2) expect(ran.stderr.trim().split("\n")).toHaveLength(1);
  });
});
