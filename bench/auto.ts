/**
 * Whether `warpSpecialize: "auto"` chooses well: times modules emitted with it and with "never", on this machine's Hopper
 * GPU: `npm run bench -- auto --out auto-h200.json`, a file in bench/results. For a machine without Node, `--prepare FOLDER`
 * only writes the modules, which `python bench/auto.py FOLDER --out FILE` times there.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "tilescript";
import { attentionWithGradients } from "../examples/attention-gradients.js";
import { attention } from "../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../examples/fp8-gemm.js";
import { gemmPersistentTma } from "../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../examples/gemm-persistent.js";
import { gemmTma } from "../examples/gemm-tma.js";
import { gemm } from "../examples/gemm.js";
import { linearGelu } from "../examples/linear-gelu.js";
import { relativeAttention } from "../examples/relative-attention.js";
import { resultFile, runOrPrepare } from "./in-python.js";

interface Timed {
  /** Arguments of the module's `get_inputs`. */
  readonly inputs: Readonly<Record<string, number>>;
  /** The value of the argument that is a flag. */
  readonly flag?: boolean;
}

const products: readonly Timed[] = [
  { inputs: { M: 8192, N: 8192, K: 8192 } },
  { inputs: { M: 4096, N: 4096, K: 4096 } },
  { inputs: { M: 1024, N: 4096, K: 1024 } },
];
const attentions: readonly Timed[] = [
  { inputs: { H: 128, S: 4096, HEAD_DIM: 128 }, flag: true },
  { inputs: { H: 128, S: 4096, HEAD_DIM: 64 }, flag: false },
  { inputs: { H: 16, S: 1024, HEAD_DIM: 64 }, flag: true },
];

const examples = [
  ...[gemm, gemmTma, gemmPersistent, gemmPersistentTma, linearGelu, fp8Gemm, fp8GemmBlockScaled].map((kernel) => ({
    kernel,
    cases: products,
  })),
  ...[attention, attentionWithGradients, relativeAttention].map((kernel) => ({ kernel, cases: attentions })),
];

const { values: flags } = parseArgs({
  options: { out: { type: "string", default: "auto.json" }, prepare: { type: "string" } },
});

async function emitInto(folder: string): Promise<void> {
  const index = [];
  for (const { kernel, cases } of examples) {
    const compiled = await build(kernel);
    for (const warpSpecialize of ["auto", "never"] as const) {
      mkdirSync(join(folder, warpSpecialize), { recursive: true });
      const text = compiled.emit({ warpSpecialize }).python;
      // PyTorch registers an operator's name only once.
      writeFileSync(
        join(folder, warpSpecialize, compiled.file),
        text.replaceAll("tilescript::", `${warpSpecialize}::`),
      );
    }
    index.push(...cases.map((each) => ({ module: compiled.file, ...each })));
  }
  writeFileSync(join(folder, "cases.json"), `${JSON.stringify(index)}\n`);
}

await runOrPrepare(flags.prepare, "auto.py", emitInto, ["--out", resultFile(flags.out)]);
