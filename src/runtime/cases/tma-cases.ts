/** Test cases whose tensors satisfy the requirements of TMA: contiguous rows whose length is a multiple of 16 bytes. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";

/** Elements in 16 bytes of the narrowest dtype of which a warp-specialized kernel loads blocks. */
const ELEMENTS_PER_ROW_UNIT = 8;

/** Rounds sizes up to multiples and drops layouts. Returns the test case unchanged if the kernel rejects the result. */
export function tmaCompatibleCase(kernel: CompiledKernel, testCase: TestCase): TestCase {
  const { layouts: _, ...others } = testCase;
  const sizes = Object.entries(testCase.sizes).map(
    ([name, size]) => [name, Math.ceil(size / ELEMENTS_PER_ROW_UNIT) * ELEMENTS_PER_ROW_UNIT] as const,
  );
  const compatible = { ...others, sizes: Object.fromEntries(sizes) };
  return kernel.refusal(compatible) === undefined ? compatible : testCase;
}
