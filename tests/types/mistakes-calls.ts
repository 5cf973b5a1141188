/** Mistakes where a kernel is run from TypeScript. `softmax` is the kernel that stands after the setting. */
import { type Chapter, mistake } from "./mistake.js";

export const calls: Chapter = {
  title: "Calls",
  of: "kernels",
  mistakes: [
    mistake("a kernel called as a function", "softmax(x, scales);", "void softmax.run({ x, scales });"),
    mistake("an input that is missing", "void softmax.evaluate({ x });", "void softmax.evaluate({ x, scales });"),
    mistake(
      "an input of another dtype",
      "void softmax.evaluate({ x: NDArray.randn([4, 8]), scales });",
      "void softmax.evaluate({ x: NDArray.randn([4, 8], tl.float16), scales });",
    ),
    mistake(
      "a typed array of another dtype",
      "void softmax.evaluate({ x, scales: new Float64Array(4) });",
      "void softmax.evaluate({ x, scales: new Float32Array(4) });",
    ),
    mistake("an output among the inputs", "void softmax.run({ x, scales, y: x });", "void softmax.run({ x, scales });"),
    mistake(
      "a constexpr among the inputs",
      "void softmax.check({ x, scales, BLOCK: 32 });",
      "void softmax.check({ x, scales }, { BLOCK: 32 });",
    ),
    mistake(
      "a constexpr that the kernel does not have",
      "void softmax.check({ x, scales }, { BLOCKS: 32 });",
      "void softmax.check({ x, scales }, { BLOCK: 32 });",
    ),
    mistake(
      "a flag that is a number",
      "void softmax.check({ x, scales }, { CAUSAL: 1 });",
      "void softmax.check({ x, scales }, { CAUSAL: true });",
    ),
    mistake(
      "a device that there is not",
      'void softmax.run({ x, scales }, { device: "gpu" });',
      'void softmax.run({ x, scales }, { device: "cuda" });',
    ),
    mistake(
      "an output that the kernel does not have",
      "void softmax.run({ x, scales }).then(({ outputs }) => outputs.z);",
      "void softmax.run({ x, scales }).then(({ outputs }) => outputs.y);",
    ),
    mistake(
      "an array of a dtype variable",
      'void NDArray.zeros([4], tl.dtype("T", [tl.float16, tl.float32]));',
      "void NDArray.zeros([4], tl.float16);",
    ),
  ],
};
