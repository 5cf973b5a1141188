/**
 * Each emitted kernel with a hand-written twin: how both are compiled, and where the emitted one has more instructions.
 */
import { attentionWithGradients } from "../../../examples/attention-gradients.js";
import { asin } from "../../../examples/asin.js";
import { dependentAdd } from "../../../examples/dependent-launch.js";
import { dropout } from "../../../examples/dropout.js";
import { gemmBlockScaled } from "../../../examples/gemm-block-scaled.js";
import { gemmPersistentTma } from "../../../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../../../examples/gemm-persistent.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { groupedGemm } from "../../../examples/grouped-gemm.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { softmaxRows } from "../../../examples/softmax-rows.js";
import { softmax } from "../../../examples/softmax.js";
import { vectorAdd } from "../../../examples/vector-add.js";
import { fp8BlockGemm } from "../../kernels/ports/fp8-block-gemm.js";
import { gatedDeltaH } from "../../kernels/ports/gated-delta.js";
import { groupQuant } from "../../kernels/ports/group-quant.js";
import { statePassing } from "../../kernels/ports/state-passing.js";
import type { Arguments, Shape } from "../compile/arguments.js";

/** What Triton knows of the sizes: multiples of 16, or nothing but a last stride of 1. */
export type Sizes = Extract<Shape, "aligned" | "odd">;

/** Instructions of the emitted kernel and of its twin that are above the limits, and why. They are the figures of today. */
export interface Excess {
  /** Whole kernels, then their loops. */
  readonly instructions: readonly [emitted: number, twin: number];
  readonly loop?: readonly [emitted: number, twin: number];
  readonly cause: string;
}

export interface Pair {
  /** The kernel's name in Python, in both. */
  readonly kernel: string;
  /** The example, or the operator that has the kernel. */
  readonly example: unknown;
  /** The example's file, without `.ts`, and the twin's file beside this one, without `.py`. */
  readonly file: string;
  /** Whether the file is a port, of which instructions are counted and no times are measured. */
  readonly isPort?: true;
  readonly twin: string;
  /** Which dtype of the kernel's variable; float16 unless it says. */
  readonly dtype?: string;
  /** Which config; the first unless it says. */
  readonly config?: number;
  /** Constexprs that a launch computes or a caller gives. */
  readonly constants?: Arguments["constants"];
  /** Which GPU it is compiled for; sm_90 unless it says. */
  readonly target?: "sm90" | "sm100";
  /** Which of a product's sizes `npm run bench -- twins` times; all unless it says. */
  readonly timed?: "aligned" | "ragged";
  /** Keyed by Triton's version and the sizes. */
  readonly excess?: Readonly<Partial<Record<`${"3.9" | "3.6"} ${Sizes}`, Excess>>>;
}

const ofAttention = { example: attentionWithGradients, file: "attention-gradients", twin: "attention" };

const ofPersistent = {
  kernel: "gemm_persistent",
  example: gemmPersistent,
  file: "gemm-persistent",
  twin: "gemm_persistent",
};

const ofBlockScaled = {
  kernel: "gemm_block_scaled",
  example: gemmBlockScaled,
  file: "gemm-block-scaled",
  twin: "gemm_block_scaled",
  config: 1,
};

const ofGroups = {
  kernel: "group_quant",
  example: groupQuant,
  file: "group-quant",
  isPort: true,
  twin: "group_quant",
} as const;

const ofGatedDelta = {
  kernel: "gated_delta_h",
  example: gatedDeltaH,
  file: "gated-delta",
  isPort: true,
  twin: "gated_delta",
} as const;

const SEQUENCES =
  "rows are counted from the first sequence on, so each turn adds where its own begins; Triton 3.9 moves it out";

const SUMS_OF_OFFSETS =
  "offsets are added up in 32 bits before they lie on a pointer; the twin with such a sum has the same loop";

/** The cause is not found yet. */
const ONE_MORE = "one instruction in a thousand; Triton 3.6 compiles the same source to no more than the twin";

export const pairs: readonly Pair[] = [
  { ...ofGroups, constants: { GROUP: 128, BLOCK: 128 } },
  { ...ofGroups, constants: { GROUP: 96, BLOCK: 128 } },
  {
    ...ofGatedDelta,
    constants: { K: 128, V: 128 },
    excess: {
      "3.6 aligned": { instructions: [1062, 1067], loop: [458, 450], cause: SEQUENCES },
      "3.6 odd": { instructions: [1062, 1067], loop: [458, 450], cause: SEQUENCES },
    },
  },
  { ...ofGatedDelta, constants: { K: 256, V: 128 } },
  { kernel: "fp8_block_gemm", example: fp8BlockGemm, file: "fp8-block-gemm", isPort: true, twin: "fp8_block_gemm" },
  { kernel: "state_passing", example: statePassing, file: "state-passing", isPort: true, twin: "state_passing" },
  { kernel: "vector_add", example: vectorAdd, file: "vector-add", twin: "vector_add" },
  { kernel: "softmax", example: softmax, file: "softmax", twin: "softmax", config: 2, constants: { BLOCK_N: 4096 } },
  {
    kernel: "softmax_rows",
    example: softmaxRows,
    file: "softmax-rows",
    twin: "softmax_rows",
    config: 2,
    constants: { BLOCK_N: 1024 },
  },
  { kernel: "dropout", example: dropout, file: "dropout", twin: "dropout" },
  { kernel: "asin", example: asin, file: "asin", twin: "asin" },
  { kernel: "gemm", example: gemm, file: "gemm", twin: "gemm" },
  { ...ofPersistent, timed: "aligned" },
  // With larger blocks and nothing known of strides, hundreds of bytes of each thread lie in memory: times then differ
  // by 5 % from process to process, and autotuning takes this config.
  { ...ofPersistent, config: 2, timed: "ragged" },
  { kernel: "gemm_tma", example: gemmTma, file: "gemm-tma", twin: "gemm_tma" },
  {
    kernel: "gemm_persistent_tma",
    example: gemmPersistentTma,
    file: "gemm-persistent-tma",
    twin: "gemm_persistent_tma",
  },
  { kernel: "grouped_gemm", example: groupedGemm, file: "grouped-gemm", twin: "grouped_gemm" },
  {
    ...ofBlockScaled,
    excess: { "3.6 aligned": { instructions: [1443, 1450], loop: [843, 840], cause: SUMS_OF_OFFSETS } },
  },
  { ...ofBlockScaled, target: "sm100" },
  { kernel: "dependent_add", example: dependentAdd, file: "dependent-launch", twin: "dependent_add" },
  {
    kernel: "layer_norm_forward",
    example: layerNorm,
    file: "layer-norm",
    twin: "layer_norm",
    config: 2,
    constants: { BLOCK_N: 8192 },
  },
  {
    kernel: "layer_norm_gradients",
    example: layerNorm,
    file: "layer-norm",
    twin: "layer_norm",
    config: 1,
    constants: { BLOCK_N: 8192 },
  },
  { kernel: "column_sums", example: layerNorm, file: "layer-norm", twin: "layer_norm" },
  { ...ofAttention, kernel: "attention_forward", constants: { HEAD_DIM: 64, CAUSAL: true } },
  { ...ofAttention, kernel: "attention_forward", constants: { HEAD_DIM: 128, CAUSAL: false } },
  { ...ofAttention, kernel: "attention_key_gradients", constants: { HEAD_DIM: 64, CAUSAL: true } },
  { ...ofAttention, kernel: "attention_key_gradients", constants: { HEAD_DIM: 128, CAUSAL: false } },
  { ...ofAttention, kernel: "attention_query_gradients", constants: { HEAD_DIM: 64, CAUSAL: true } },
  {
    ...ofAttention,
    kernel: "attention_query_gradients",
    constants: { HEAD_DIM: 128, CAUSAL: false },
    excess: {
      "3.9 aligned": { instructions: [1376, 1375], loop: [1172, 1171], cause: ONE_MORE },
      "3.9 odd": { instructions: [1402, 1401], loop: [1220, 1219], cause: ONE_MORE },
    },
  },
  { ...ofAttention, kernel: "attention_delta", constants: { HEAD_DIM: 64 } },
];

/** What a test of a pair is called. */
export const nameOf = ({ kernel, target, timed, constants = {} }: Pair): string =>
  [
    kernel,
    ...(target ? [target] : []),
    ...(timed ? [timed] : []),
    ...Object.entries(constants).map((each) => each.join("=")),
  ].join(" ");
