/**
 * Compares the times of emitted kernels and hand-written ones on this machine's GPU: `npm run bench -- twins --out
 * twins-h200.json`, a file in bench/results. `--check` compares the results of both with PyTorch at small sizes, on
 * Triton's interpreter if there is no GPU, and times nothing. For a machine without Node, `--prepare FOLDER` only
 * writes the modules, which `python bench/twins.py FOLDER --out FILE` times there.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { pairs } from "../tests/triton/twins/pairs.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const { values: flags } = parseArgs({
  options: {
    out: { type: "string", default: "twins.json" },
    prepare: { type: "string" },
    check: { type: "boolean", default: false },
    only: { type: "string" },
  },
});

/** The emitted modules, and for each kernel the config and the twin to compare. */
async function emitInto(folder: string): Promise<void> {
  const index = [];
  for (const { kernel, example, twin, target, config = 0, constants = {}, timed, isPort } of pairs) {
    // The machine determines the GPU.
    if (target === "sm100" || isPort) continue;
    const { python, file } = await build(example);
    writeFileSync(join(folder, file), python);
    index.push({ kernel, module: file, twin: `${twin}.py`, config, constants, timed });
  }
  writeFileSync(join(folder, "pairs.json"), `${JSON.stringify(index, undefined, 2)}\n`);
}

const modeArgs = flags.check ? ["--check"] : ["--out", resultFile(flags.out)];
const kernelArgs = flags.only === undefined ? [] : ["--only", flags.only];
await runOrPrepare(flags.prepare, "twins.py", emitInto, [...modeArgs, ...kernelArgs]);
