/** The kernels of `examples/`, for tests that go over all of them. */
import { fileURLToPath } from "node:url";
import { bitonicTopk } from "../../examples/bitonic-topk.js";
import { attention } from "../../examples/flash-attention.js";
import { gemm } from "../../examples/gemm.js";
import { int4Gemm } from "../../examples/int4-gemm.js";
import { jaggedSoftmax } from "../../examples/jagged-softmax.js";
import { chunkScan } from "../../examples/mamba-chunk-scan.js";
import { softmax } from "../../examples/softmax.js";
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
  example("mamba-chunk-scan", chunkScan),
  example("bitonic-topk", bitonicTopk),
  example("int4-gemm", int4Gemm),
  example("jagged-softmax", jaggedSoftmax),
];
