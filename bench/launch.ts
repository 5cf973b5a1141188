/**
 * Times the host cost of calls of emitted wrappers, on this machine's GPU: `npm run bench -- launch --out
 * launch-h200.json`, a file in bench/results. For a machine without Node, `--prepare FOLDER` only writes the modules,
 * which `python bench/launch.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "launch.json" }, prepare: { type: "string" } },
});

/** Each module with and without the launch cache. */
async function emitInto(folder: string): Promise<void> {
  for (const launch of ["fast", "plain"] as const) {
    mkdirSync(join(folder, launch), { recursive: true });
    for (const kernel of [vectorAdd, softmax, gemm]) {
      const built = await build(kernel);
      writeFileSync(join(folder, launch, built.file), built.emit({ launch }).python);
    }
  }
}

await runOrPrepare(flags.prepare, "launch.py", emitInto, ["--out", resultFile(flags.out)]);
