/** The commands of explanations say what the explanations quote, with that code. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execa } from "execa";
import { afterAll, expect, it } from "vitest";
import { explanations } from "../../src/diagnostics/explanations/index.js";
import { type Explanation, kernelFileOf } from "../../src/diagnostics/explanations/explanation.js";
import { binary, installInto } from "../support/installed.js";
import { closeResidents, tilescript } from "../support/resident-cli.js";

afterAll(closeResidents);

const START = "npx tilescript ";
const examples = Object.entries<Explanation>(explanations).flatMap(([code, each]) =>
  "command" in each && each.command.startsWith(START) ? [{ code, ...each }] : [],
);

async function run(command: string, file: string, inProcess = false) {
  const cwd = await mkdtemp(join(tmpdir(), "tilescript-explained-"));
  installInto(cwd);
  await writeFile(join(cwd, "kernel.ts"), file);
  const args = command.slice(START.length).split(" ");
  const env = { PATH: process.env["PATH"], HOME: cwd };
  if (!inProcess) return tilescript({ cwd, env, args });
  return execa(process.execPath, [binary, ...args], { cwd, env, extendEnv: false, reject: false });
}

/** Codes whose message no file of few lines shows: a fault of ptxas, of this package, or what Triton makes of a kernel. */
const shown = new Set(["environment", "exception", "import", "kernel-file", "syntax", "usage"]);

it.each(examples.filter(({ code }) => shown.has(code)))(
  "$code: $command",
  async ({ code, command, file = kernelFileOf({}), message: says }) => {
    const { exitCode, stdout, stderr } = await run(command, file, code === "kernel-file");
    expect(exitCode).not.toBe(0);
    expect(stdout + stderr).toContain(`error ${code}: `);
    expect(stderr).toContain(says);
  },
);

it.each(examples.filter(({ code }) => !shown.has(code)))(
  "$code: $command has options that exist",
  async ({ command }) => {
    const { stderr } = await run(command, "");
    // What is refused is the empty file.
    expect(stderr).toContain("kernel.ts exports no kernel");
  },
);
