/**
 * Times the examples on this machine's GPU: `npm run bench -- gpu --out nvidia-h200.json`, a file in bench/results. For
 * a machine without Node, `--prepare FOLDER` only writes the modules, which `python bench/gpu.py FOLDER` times there.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { gemm } from "../examples/gemm.js";
import { softmax } from "../examples/softmax.js";
import { vectorAdd } from "../examples/vector-add.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "gpu.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  for (const kernel of [gemm, softmax, vectorAdd]) {
    const compiledKernel = await build(kernel);
    const { python } = compiledKernel.emit({ op: { namespace: "bench", form: "custom_op" } });
    writeFileSync(join(folder, compiledKernel.file), python);
  }
}

await runOrPrepare(flags.prepare, "gpu.py", emitInto, ["--out", resultFile(flags.out)]);
