/** The kernels of `examples/`, for tests that go over all of them. */
import { fileURLToPath } from "node:url";
import { attention } from "../../examples/flash-attention.js";
import { gemm } from "../../examples/gemm.js";
import { layerNorm } from "../../examples/layer-norm.js";
import { maxPool3d } from "../../examples/max-pool-3d.js";
import { moeGemm } from "../../examples/moe-gemm.js";
import { pagedAttention } from "../../examples/paged-attention.js";
import { softmax } from "../../examples/softmax.js";
import { adamwStochastic } from "../../examples/stochastic-rounding.js";
import { vectorAdd } from "../../examples/vector-add.js";

const example = (name: string, kernel: unknown) => ({
  name,
  kernel,
  file: fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url)),
});

export const examples = [
  example("vector-add", vectorAdd),
  example("softmax", softmax),
  example("gemm", gemm),
  example("flash-attention", attention),
  example("paged-attention", pagedAttention),
  example("moe-gemm", moeGemm),
  example("max-pool-3d", maxPool3d),
  example("stochastic-rounding", adamwStochastic),
  example("layer-norm", layerNorm),
];
