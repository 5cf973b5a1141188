import { execa } from "execa";
import { readdirSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { pythonFolder } from "../../src/runtime/worker/host.js";
import { sampleCases } from "../support/sampled-tests.js";
import { requirePython } from "../support/python.js";

const tests = fileURLToPath(new URL("./", import.meta.url));

const files = readdirSync(tests).filter((name) => /^test_.*\.py$/.test(name));

// One process tests all files that are drawn, since most of its time goes into importing torch.
it("should pass the tests of the worker and of the runtime", { timeout: 600_000 }, async () => {
  const chosen = sampleCases("files of Python tests", files, {
    key: (name) => name,
    sources: sourcesOf,
    minimum: 2,
    perRun: 9,
  });
  const modules = chosen.map((name) => name.replace(/\.py$/, ""));
  const env = { PYTHONPATH: [pythonFolder, tests].join(delimiter), PYTHONDONTWRITEBYTECODE: "1" };
  const ran = await execa(await requirePython(), ["-m", "unittest", ...modules], { env, reject: false });
  expect(ran.stderr).toMatch(/\nOK$/);
});

/** What a file tests: itself, and the modules that it imports. */
function sourcesOf(name: string): readonly string[] {
  const imported = readFileSync(join(tests, name), "utf8").matchAll(
    /\b(tilescript_worker|runtime)(?:\.| import )(\w+)/g,
  );
  return [`tests/python/${name}`, ...Array.from(imported, ([, folder, module]) => `python/${folder}/${module}.py`)];
}
