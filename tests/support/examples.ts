/** The kernels of `examples/`, for tests that go over all of them. */
import { fileURLToPath } from "node:url";
import { addLayerNorm } from "../../examples/add-layer-norm.js";
import { addRmsNorm } from "../../examples/add-rms-norm.js";
import { asin } from "../../examples/asin.js";
import { attentionWithGradients } from "../../examples/attention-gradients.js";
import { bitonicTopk } from "../../examples/bitonic-topk.js";
import { crossEntropyWithGradient } from "../../examples/cross-entropy-with-gradient.js";
import { crossEntropy } from "../../examples/cross-entropy.js";
import { dependentAdd } from "../../examples/dependent-launch.js";
import { dropout } from "../../examples/dropout.js";
import { attention } from "../../examples/flash-attention.js";
import { fp8Gemm } from "../../examples/fp8-gemm.js";
import { geluDropout } from "../../examples/gelu-dropout.js";
import { gemmBlockScaled } from "../../examples/gemm-block-scaled.js";
import { gemmPersistentTma } from "../../examples/gemm-persistent-tma.js";
import { gemmPersistent } from "../../examples/gemm-persistent.js";
import { gemmSplitK } from "../../examples/gemm-split-k.js";
import { gemmTma } from "../../examples/gemm-tma.js";
import { gemm } from "../../examples/gemm.js";
import { groupedGemm } from "../../examples/grouped-gemm.js";
import { histogram } from "../../examples/histogram.js";
import { int4Gemm } from "../../examples/int4-gemm.js";
import { int8Gemm } from "../../examples/int8-gemm.js";
import { jaggedSoftmax } from "../../examples/jagged-softmax.js";
import { layerNorm } from "../../examples/layer-norm.js";
import { linearGelu } from "../../examples/linear-gelu.js";
import { chunkScan } from "../../examples/mamba-chunk-scan.js";
import { maxPool3d } from "../../examples/max-pool-3d.js";
import { moeGemm } from "../../examples/moe-gemm.js";
import { pagedAttention } from "../../examples/paged-attention.js";
import { relativeAttention } from "../../examples/relative-attention.js";
import { rmsNorm } from "../../examples/rms-norm.js";
import { rotary } from "../../examples/rotary.js";
import { siluMul } from "../../examples/silu-mul.js";
import { softmaxLong } from "../../examples/softmax-long.js";
import { softmax } from "../../examples/softmax.js";
import { adamwStochastic } from "../../examples/stochastic-rounding.js";
import { vectorAdd } from "../../examples/vector-add.js";
import { vectorSum } from "../../examples/vector-sum.js";

const example = (name: string, kernel: unknown) => ({
  name,
  kernel,
  file: fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url)),
});

/** The files, from the root of the repository, whose change is a change of an example: its own and its golden file. */
export const sourcesOf = (name: string): readonly string[] => [
  `examples/${name}.ts`,
  `tests/unit/codegen/golden/${name}.py`,
];

export const examples = [
  example("vector-add", vectorAdd),
  example("softmax", softmax),
  example("softmax-long", softmaxLong),
  example("gemm", gemm),
  example("gemm-persistent", gemmPersistent),
  example("gemm-tma", gemmTma),
  example("gemm-persistent-tma", gemmPersistentTma),
  example("gemm-block-scaled", gemmBlockScaled),
  example("gemm-split-k", gemmSplitK),
  example("fp8-gemm", fp8Gemm),
  example("int8-gemm", int8Gemm),
  example("grouped-gemm", groupedGemm),
  example("flash-attention", attention),
  example("attention-gradients", attentionWithGradients),
  example("relative-attention", relativeAttention),
  example("mamba-chunk-scan", chunkScan),
  example("bitonic-topk", bitonicTopk),
  example("int4-gemm", int4Gemm),
  example("jagged-softmax", jaggedSoftmax),
  example("paged-attention", pagedAttention),
  example("moe-gemm", moeGemm),
  example("max-pool-3d", maxPool3d),
  example("stochastic-rounding", adamwStochastic),
  example("layer-norm", layerNorm),
  example("rms-norm", rmsNorm),
  example("add-rms-norm", addRmsNorm),
  example("add-layer-norm", addLayerNorm),
  example("rotary", rotary),
  example("silu-mul", siluMul),
  example("linear-gelu", linearGelu),
  example("cross-entropy", crossEntropy),
  example("cross-entropy-with-gradient", crossEntropyWithGradient),
  example("dropout", dropout),
  example("gelu-dropout", geluDropout),
  example("histogram", histogram),
  example("vector-sum", vectorSum),
  example("asin", asin),
  example("dependent-launch", dependentAdd),
];
