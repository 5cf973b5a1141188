/**
 * Times the examples on this machine's GPU beside what a user would run instead: `npm run bench:gallery -- --out
 * gallery-h200.json`, a file in bench/results. `--only silu_mul,softmax` times some, and keeps the figures of the others
 * if device, versions and modules are those of the file. For a machine without Node, `--prepare FOLDER` only writes the
 * modules, which `python bench/gallery.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build, type Kernel, type Operator } from "tilescript";
import { addLayerNorm } from "../examples/add-layer-norm.js";
import { addRmsNorm } from "../examples/add-rms-norm.js";
import { attentionWithGradients } from "../examples/attention-gradients.js";
import { crossEntropyWithGradient } from "../examples/cross-entropy-with-gradient.js";
import { crossEntropy } from "../examples/cross-entropy.js";
import { fp8Gemm } from "../examples/fp8-gemm.js";
import { geluDropout } from "../examples/gelu-dropout.js";
import { gemmPersistentTma } from "../examples/gemm-persistent-tma.js";
import { gemmSplitK } from "../examples/gemm-split-k.js";
import { gemm } from "../examples/gemm.js";
import { histogram } from "../examples/histogram.js";
import { int8Gemm } from "../examples/int8-gemm.js";
import { layerNorm } from "../examples/layer-norm.js";
import { linearGelu } from "../examples/linear-gelu.js";
import { relativeAttention } from "../examples/relative-attention.js";
import { rmsNorm } from "../examples/rms-norm.js";
import { rotary } from "../examples/rotary.js";
import { siluMul } from "../examples/silu-mul.js";
import { softmaxLong } from "../examples/softmax-long.js";
import { softmax } from "../examples/softmax.js";
import { vectorSum } from "../examples/vector-sum.js";
import { resultFile, runOnModules } from "./in-python.js";

const { values: given } = parseArgs({
  options: {
    out: { type: "string", default: "gallery.json" },
    prepare: { type: "string" },
    only: { type: "string" },
  },
});

const kernels: readonly (Kernel<string, any> | Operator<string, any>)[] = [
  softmax,
  softmaxLong,
  layerNorm,
  rmsNorm,
  addRmsNorm,
  addLayerNorm,
  rotary,
  geluDropout,
  vectorSum,
  histogram,
  siluMul,
  crossEntropy,
  crossEntropyWithGradient,
  gemm,
  gemmPersistentTma,
  gemmSplitK,
  fp8Gemm,
  int8Gemm,
  linearGelu,
  attentionWithGradients,
  relativeAttention,
];

async function emitInto(folder: string): Promise<void> {
  mkdirSync(folder, { recursive: true });
  for (const kernel of kernels) {
    const { python, file } = await build(kernel);
    writeFileSync(join(folder, file), python);
  }
}

if (given.prepare === undefined) {
  const only = given.only === undefined ? [] : ["--only", given.only];
  process.exitCode = await runOnModules("gallery.py", emitInto, ["--out", resultFile(given.out), ...only]);
} else await emitInto(given.prepare);
