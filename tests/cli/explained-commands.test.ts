/** The commands of explanations say what the explanations quote, with that code, and nothing after the remedy. */
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
const all = Object.entries<Explanation>(explanations).flatMap(([code, each]) =>
  "command" in each ? [{ code, ...each }] : [],
);
const examples = all.filter(({ command }) => command.startsWith(START));

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

/** A kernel that passes every command. */
const CORRECT = kernelFileOf({ spec: "reference: ({ x }) => x," });
/** The file after a remedy in words. */
const corrected: Readonly<Record<string, string>> = {
  exception: CORRECT,
  import: `import "node:path";\n${CORRECT}`,
  "kernel-file": CORRECT,
  syntax: `${CORRECT}export const x = (1);\n`,
};
/** Its remedy needs Python, which this environment lacks. */
const NEEDS_PYTHON = "other-target";

it.each(all)("$code: the remedy mends it: $remedy", async ({ code, command, remedy }) => {
  const isCommand = remedy.startsWith(START);
  const file = corrected[code] ?? (isCommand ? CORRECT : kernelFileOf({ config: `${remedy},` }));
  const words = corrected[code] === undefined ? `${START}check kernel.ts` : command;
  const { exitCode, stderr } = await run(isCommand ? remedy : words, file, code === "kernel-file");
  expect(stderr).not.toMatch(code === NEEDS_PYTHON ? /error (?!environment)/ : /error /);
  expect(exitCode).toBe(code === NEEDS_PYTHON ? 3 : 0);
});
