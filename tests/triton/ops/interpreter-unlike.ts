/** Where Triton's interpreter is known to be wrong or incomplete, so that tests do not rely on it. Each entry says why. */
import type { OpCase } from "./harness.js";

interface Entry {
  readonly why: string;
  readonly is: (testCase: OpCase) => boolean;
}

const unlikes: readonly Entry[] = [
  {
    why: "it has no reductions through descriptors",
    is: ({ op }) => op.startsWith("descriptorAtomic"),
  },
  {
    why: "bfloat16 is computed on bit patterns and truncated",
    is: ({ operands, results }) => [...operands, ...results].some(({ dtype }) => dtype === "bfloat16"),
  },
  {
    why: "8-bit floats are converted inexactly, or not at all; tests/triton/ops/cast.test.ts compares every code with ml_dtypes",
    is: ({ operands, results }) => [...operands, ...results].some(({ dtype }) => String(dtype).startsWith("float8")),
  },
];

export function unlike(testCase: OpCase): string | undefined {
  return unlikes.find(({ is }) => is(testCase))?.why;
}
