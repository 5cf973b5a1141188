/** What is wrong on the command line is said before a Python is looked for, and before kernels are built where they do not matter. */
import { chmod, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { kernelCommands } from "../../../src/runtime/commands/index.js";
import { sourceFiles, specifiersOf } from "../../../docs/folders.js";
import { vectorAdd } from "../../support/fixtures/vector-add.js";
import { cli, expectUsageError } from "../../support/cli.js";

let python: string;
let asked: string;
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), "tilescript-order-"));
  [python, asked] = [join(folder, "python"), join(folder, "asked")];
  await writeFile(python, `#!/bin/sh\necho "$@" >> '${asked}'\nexit 1\n`);
  await chmod(python, 0o755);
});

const wrong = ["--shape", "Q=3"];
const wrongShapes = ["--shapes", "Q=3"];

describe("options that do not fit the kernel", () => {
  it.each([
    ["--run", ...wrong],
    ["--run", "--config", "7"],
    ["--run", "--dtype", "T=int8"],
    ["--verify", ...wrong],
    ["--verify", "--case", `{"sizes": {"Q": 3}}`],
    ["--compile", "cuda:90", ...wrong],
    ["--bench", ...wrongShapes],
    ["--bench", "--sweep", "Q=1..8:x2"],
    ["--prewarm", ...wrongShapes],
    ["--tune", ...wrongShapes],
    ["--tune", "--targets", "cuda:90", "--dry-run", ...wrongShapes],
  ])("%s %s %s: no Python is started", async (...args) => {
    expectUsageError(await cli(vectorAdd(), ...args, "--python", python), /size|configs|can be|autotune/);
    expect(existsSync(asked)).toBe(false);
  });

  it("asks it otherwise", async () => {
    const { code } = await cli(vectorAdd(), "--run", "--shape", "N=3", "--python", python);
    expect(code).toBe(3);
    expect(await readFile(asked, "utf8")).toContain("-c");
  });
});

describe("options that are wrong by themselves", () => {
  it.each([
    ["--run", "--order", "reversed"],
    ["--compile", "cuda:91"],
    ["--tune", "--targets", "cuda:91"],
    ["--tune", "--dry-run", "--write"],
    ["--emit", "--triton-op"],
    ["--emit", "gemm.ts"],
    ["--package", "1st"],
  ])("%s %s: no kernel is built", async (...args) => {
    let built = 0;
    const kernel = async () => (built++, vectorAdd());
    expectUsageError(await cli(kernel, ...args), /--order|known target|--dry-run|--emit-op|gemm\.ts|1st/);
    expect(built).toBe(0);
  });
});

it("commands on kernels get a Python from the machine alone, which their plan does not have", () => {
  const textOf = (file: string) => readFileSync(new URL(`../../../src/${file}`, import.meta.url), "utf8");
  const files = sourceFiles().filter(
    (file) => file.startsWith("runtime/commands/") && /\b(KernelCommand<|planVerification\()/.test(textOf(file)),
  );
  const declared = files.flatMap((file) => [...textOf(file).matchAll(/: KernelCommand</g)]);
  expect(declared).toHaveLength(kernelCommands.length);
  for (const file of files) {
    const text = textOf(file);
    expect(text).not.toMatch(/\b(findPython|probePython|openDevices?|openGpus?|thisMachine|new Worker)\b/);
    expect(specifiersOf(file).filter((name) => /python\/(environment|probe|worker)/.test(name))).toEqual([]);
  }
});
