/**
 * Compares warp-specialized kernels with the plain ones and PyTorch on this machine's GPU, first their results, then
 * their times: `npm run bench -- gluon --out gluon-h200.json`, a file in bench/results. For a machine without Node,
 * `--prepare FOLDER` only writes the modules, which `python bench/gluon.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { attention } from "../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../examples/fp8-gemm.js";
import { gemm } from "../examples/gemm.js";
import { int4Gemm } from "../examples/int4-gemm.js";
import { gemmPersistentTma } from "../examples/gemm-persistent-tma.js";
import { gemmTma } from "../examples/gemm-tma.js";
import { linearGelu } from "../examples/linear-gelu.js";
import { relativeAttention } from "../examples/relative-attention.js";
import { inOneLoop, inTwoLoops, unmasked, windowed } from "../tests/unit/codegen/fixtures/attentions.js";
import * as modifications from "../tests/unit/codegen/fixtures/score-modifications.js";
import { randomAttention } from "../tests/kernels/random/random-attentions.js";
import { randomMixed } from "../tests/kernels/random/random-mixed.js";
import { randomProduct } from "../tests/kernels/random/random-products.js";
import { resultFile, runOrPrepare } from "./in-python.js";

const examples = [
  gemm,
  gemmTma,
  gemmPersistentTma,
  linearGelu,
  fp8Gemm,
  fp8GemmBlockScaled,
  int4Gemm,
  attention,
  relativeAttention,
];
/** Random kernels of each form. */
const EACH = 320;

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "gluon.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  for (const example of examples) {
    const kernel = await build(example);
    writeFileSync(join(folder, kernel.file), kernel.emit({ warpSpecialize: "always" }).python);
  }
  for (const fixture of [inTwoLoops, inOneLoop, windowed, unmasked, ...Object.values(modifications)]) {
    const kernel = await build(fixture);
    writeFileSync(join(folder, kernel.file), kernel.emit({ warpSpecialize: "always" }).python);
  }
  const random = join(folder, "random");
  mkdirSync(random, { recursive: true });
  const randomModules = [randomProduct, randomMixed, randomAttention].flatMap((draw) =>
    Array.from({ length: EACH }, (_, i) => draw(i)),
  );
  for (const { name, kernel } of randomModules)
    writeFileSync(join(random, `${name}.py`), (await build(kernel)).emit({ warpSpecialize: "always" }).python);
  const index = randomModules.map(({ name, dtype, words, sizes, isStrided }) => ({
    name,
    dtype,
    words,
    sizes,
    isStrided,
  }));
  writeFileSync(join(random, "index.json"), `${JSON.stringify(index)}\n`);
}

await runOrPrepare(flags.prepare, "gluon.py", emitInto, ["--out", resultFile(flags.out)]);
