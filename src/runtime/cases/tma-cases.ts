/** Cases whose tensors the copy engine of a Hopper can move: rows of 16 bytes and multiples, one after another. */
import type { TestCase, CompiledKernel } from "../../compiled/compiled-kernel.js";

/** Elements in 16 bytes of the narrowest dtype of which a warp-specialized kernel loads blocks. */
const MOVABLE = 8;

/** The case with the next sizes that are multiples, in plain layouts, where the kernel takes such; or else as it is. */
export function tmaCompatibleCase(kernel: CompiledKernel, at: TestCase): TestCase {
  const { layouts: _, ...rest } = at;
  const sizes = Object.entries(at.sizes).map(([name, size]) => [name, Math.ceil(size / MOVABLE) * MOVABLE] as const);
  const moved = { ...rest, sizes: Object.fromEntries(sizes) };
  return kernel.refusal(moved) === undefined ? moved : at;
}
