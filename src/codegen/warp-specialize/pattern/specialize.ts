/**
 * The warp-specialized form of a kernel: the pattern of the program before views are lowered, and the statements of the
 * lowered program that each partition needs.
 */
import type { KernelIR } from "../../../ir/nodes.js";
import { type SpecializedAttention, specializedAttention } from "./attention-plan.js";
import { sumChoice } from "./gemm-pattern.js";
import { type SpecializedGemm, specializedGemm } from "./gemm-plan.js";
import { hasStreamedProducts } from "./streamed-pattern.js";
import { type SpecializedStream, specializedStream } from "./streamed-plan.js";
import { productsIn } from "./tensor-blocks.js";
import { NotSpecializable, notSpecializable } from "./not-specializable.js";

export type Specialized = SpecializedGemm | SpecializedAttention | SpecializedStream;

/**
 * Returns the specialized form, or the reason why there is none. `lowered` is the same kernel with views lowered to
 * pointers.
 */
export function specialize(ir: KernelIR, lowered: KernelIR): Specialized | NotSpecializable {
  try {
    for (const helper of ir.functions)
      for (const { location: at } of productsIn(helper.body))
        notSpecializable("it multiplies matrices in a helper function", at);
    if (hasStreamedProducts(ir)) return specializedStream(ir);
    const isAttention = productsIn(ir.body).length > 1 && !sumChoice(ir);
    return isAttention ? specializedAttention(ir, lowered) : specializedGemm(ir, lowered);
  } catch (error) {
    if (error instanceof NotSpecializable) return error;
    throw error;
  }
}
