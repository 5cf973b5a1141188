/** The warp-specialized kernels that run under Triton's concurrency sanitizer, and mistakes that it must find. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { build } from "tilescript";
import { attention } from "../../../examples/flash-attention.js";
import { fp8GemmBlockScaled } from "../../../examples/fp8-gemm-block-scaled.js";
import { fp8Gemm } from "../../../examples/fp8-gemm.js";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../../../examples/gemm-persistent.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { int4Gemm } from "../../../examples/int4-gemm.js";
import { linearGelu } from "../../../examples/linear-gelu.js";
import { relativeAttention } from "../../../examples/relative-attention.js";
import { inTwoLoops } from "../../unit/codegen/fixtures/attentions.js";
import { documents, lengths, padded, slidingWindow } from "../../unit/codegen/fixtures/score-modifications.js";

type Inputs = Readonly<Record<string, number>>;

interface Launch {
  /** Arguments of the module's `get_inputs`. */
  readonly inputs: Inputs;
  /** The value of the one argument that is a flag, such as CAUSAL. */
  readonly flag?: boolean | undefined;
}

interface Sanitized {
  readonly form: string;
  readonly kernel: unknown;
  readonly launches: readonly Launch[];
}

/** Partial tiles on each axis, more tiles than a GPU has multiprocessors, and more turns than a ring has slots. */
const product: Inputs = { M: 2064, N: 2064, K: 592 };
const products: readonly Launch[] = [{ inputs: product }];
const heads = (H: number, S: number, sizes: Inputs, flag?: boolean): Launch => ({ inputs: { H, S, ...sizes }, flag });

const sanitized: readonly Sanitized[] = [
  { form: "product", kernel: gemm, launches: products },
  { form: "product", kernel: gemmTma, launches: products },
  { form: "product", kernel: linearGelu, launches: products },
  { form: "persistent product", kernel: gemmPersistent, launches: products },
  { form: "persistent product", kernel: gemmPersistentTma, launches: products },
  { form: "8-bit product", kernel: fp8Gemm, launches: [false, true].map((flag) => ({ inputs: product, flag })) },
  { form: "8-bit product, scaled by blocks", kernel: fp8GemmBlockScaled, launches: products },
  { form: "mixed product", kernel: int4Gemm, launches: [{ inputs: { M: 2064, GROUPS: 5, N_WORDS: 258 } }] },
  {
    form: "attention",
    kernel: attention,
    launches: [64, 128, 256].flatMap((HEAD_DIM) => [false, true].map((flag) => heads(40, 600, { HEAD_DIM }, flag))),
  },
  { form: "attention in two loops", kernel: inTwoLoops, launches: [heads(40, 600, { D: 128 }, true)] },
  { form: "attention with a bias", kernel: relativeAttention, launches: [heads(40, 600, { HEAD_DIM: 64 })] },
  { form: "attention with masks", kernel: slidingWindow, launches: [heads(12, 1600, { D: 64 })] },
  { form: "attention with masks", kernel: documents, launches: [heads(40, 600, { D: 64 })] },
  { form: "attention with masks", kernel: padded, launches: [heads(40, 600, { D: 64 })] },
  { form: "attention with masks", kernel: lengths, launches: [heads(40, 600, { D: 64 })] },
];

interface Fault {
  readonly name: string;
  readonly kernel: unknown;
  /** The waits that the emitted module loses. */
  readonly wait: RegExp;
  readonly launch: Launch;
}

const faults: readonly Fault[] = [
  { name: "gemm_reads_early", kernel: gemm, wait: /mbarrier\.wait\(filled\.[^\n]*/g, launch: { inputs: product } },
  { name: "gemm_loads_early", kernel: gemm, wait: /mbarrier\.wait\(emptied\.[^\n]*/g, launch: { inputs: product } },
  {
    name: "int4_widens_early",
    kernel: int4Gemm,
    wait: /mbarrier\.wait\(packed_filled\.[^\n]*/g,
    launch: { inputs: { M: 2064, GROUPS: 5, N_WORDS: 258 } },
  },
  {
    name: "attention_reads_early",
    kernel: attention,
    wait: /mbarrier\.wait\(v_filled\.[^\n]*/g,
    launch: heads(40, 600, { HEAD_DIM: 64 }, false),
  },
];

const specialized = async (kernel: unknown) => {
  const compiled = await build(kernel);
  return { file: compiled.file, text: compiled.emit({ warpSpecialize: "always" }).python };
};

/** Writes the modules and `cases.json`, which `sanitizer.py` runs. */
export async function emitSanitized(folder: string): Promise<void> {
  const cases = [];
  for (const { form, kernel, launches } of sanitized) {
    const { file, text } = await specialized(kernel);
    writeFileSync(join(folder, file), text);
    cases.push(...launches.map((launch) => ({ form, module: file, ...launch })));
  }
  for (const { name, kernel, wait, launch } of faults) {
    const { text } = await specialized(kernel);
    const changed = text.replaceAll(wait, "pass");
    if (changed === text) throw new Error(`${name}: the module has no ${wait.source}`);
    writeFileSync(join(folder, `${name}.py`), changed);
    cases.push({ form: "seeded mistake", module: `${name}.py`, ...launch });
  }
  writeFileSync(join(folder, "cases.json"), `${JSON.stringify(cases)}\n`);
}
