/** Each emitted kernel with a hand-written twin: how both are compiled, and where the emitted one has more instructions. */
import { asin } from "../../../examples/asin.js";
import { dropout } from "../../../examples/dropout.js";
import { gemmPersistent } from "../../../examples/gemm-persistent.js";
import { gemmTma } from "../../../examples/gemm-tma.js";
import { gemm } from "../../../examples/gemm.js";
import { layerNorm } from "../../../examples/layer-norm.js";
import { softmax } from "../../../examples/softmax.js";
import { vectorAdd } from "../../../examples/vector-add.js";
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
  readonly twin: string;
  /** Which dtype of the kernel's variable; float16 unless it says. */
  readonly dtype?: string;
  /** Which config; the first unless it says. */
  readonly config?: number;
  /** Constexprs that a launch computes or a caller gives. */
  readonly constants?: Arguments["constants"];
  /** Keyed by Triton's version and the sizes. */
  readonly excess?: Readonly<Partial<Record<`${"3.9" | "3.6"} ${Sizes}`, Excess>>>;
}

export const pairs: readonly Pair[] = [
  { kernel: "vector_add", example: vectorAdd, file: "vector-add", twin: "vector_add" },
  { kernel: "softmax", example: softmax, file: "softmax", twin: "softmax", config: 2, constants: { BLOCK_N: 4096 } },
  { kernel: "dropout", example: dropout, file: "dropout", twin: "dropout" },
  { kernel: "asin", example: asin, file: "asin", twin: "asin" },
  { kernel: "gemm", example: gemm, file: "gemm", twin: "gemm" },
  {
    kernel: "gemm_persistent",
    example: gemmPersistent,
    file: "gemm-persistent",
    twin: "gemm_persistent",
  },
  { kernel: "gemm_tma", example: gemmTma, file: "gemm-tma", twin: "gemm_tma" },
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
];
