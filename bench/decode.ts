/**
 * Times decode attention beside PyTorch's and a copy of the cache, on this machine's GPU: `npm run bench -- decode --out
 * decode-h200.json`, a file in bench/results. For a machine without Node, `--prepare FOLDER` only writes the modules,
 * which `python bench/decode.py FOLDER --out FILE` times there.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { decodeAttention } from "../examples/decode-attention.js";
import { pagedAttention } from "../examples/paged-attention.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "decode.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  for (const built of [await build(decodeAttention), await build(pagedAttention)])
    writeFileSync(join(folder, built.file), built.emit().python);
}

await runOrPrepare(flags.prepare, "decode.py", emitInto, ["--out", resultFile(flags.out)]);
