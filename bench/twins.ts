/**
 * Times emitted kernels beside hand-written ones on this machine's GPU: `npm run bench:twins -- --out twins-h200.json`, a
 * file in bench/results. `--check` compares both with PyTorch at small sizes, on Triton's interpreter if there is no GPU,
 * and times nothing. For a machine without Node, `--prepare FOLDER` only writes the modules, which
 * `python bench/twins.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { pairs } from "../tests/triton/twins/pairs.js";
import { resultFile, runOnModules } from "./in-python.js";

const { values: given } = parseArgs({
  options: {
    out: { type: "string", default: "twins.json" },
    prepare: { type: "string" },
    check: { type: "boolean", default: false },
    only: { type: "string" },
  },
});

/** The emitted modules, and which config of which kernel is compared with which twin. */
async function emitInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const index = [];
  for (const { kernel, example, twin, target, config = 0, constants = {}, timed, isPort } of pairs) {
    // Which GPU runs them is up to the machine.
    if (target === "sm100" || isPort) continue;
    const { python, file } = await build(example);
    writeFileSync(join(folder, file), python);
    index.push({ kernel, module: file, twin: `${twin}.py`, config, constants, timed });
  }
  writeFileSync(join(folder, "pairs.json"), `${JSON.stringify(index, undefined, 2)}\n`);
}

if (given.prepare === undefined) {
  const what = given.check ? ["--check"] : ["--out", resultFile(given.out)];
  const only = given.only === undefined ? [] : ["--only", given.only];
  process.exitCode = await runOnModules("twins.py", emitInto, [...what, ...only]);
} else await emitInto(given.prepare);
