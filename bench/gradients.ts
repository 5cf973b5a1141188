/**
 * Times operators with their gradients beside PyTorch's, on this machine's GPU: `npm run bench -- gradients --out
 * gradients-h200.json`, a file in bench/results. For a machine without Node, `--prepare FOLDER` only writes the modules,
 * which `python bench/gradients.py FOLDER --out FILE` times there.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { attentionWithGradients } from "../examples/attention-gradients.js";
import { linearCrossEntropy } from "../examples/linear-cross-entropy.js";
import { examples } from "../tests/support/examples.js";
import { atomicGradients } from "./atomic-gradients.js";
import { resultFile, runOrPrepare } from "./in-python.js";
import { buildVariant } from "./variants.js";

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "gradients.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  for (const built of [await build(attentionWithGradients), await build(linearCrossEntropy)])
    writeFileSync(join(folder, built.file), built.emit({ warpSpecialize: "auto" }).python);
  const example = examples.find(({ name }) => name === atomicGradients.example)!;
  const { file, python } = await buildVariant(atomicGradients, example);
  writeFileSync(join(folder, file), python);
}

await runOrPrepare(flags.prepare, "gradients.py", emitInto, ["--out", resultFile(flags.out)]);
