/**
 * A kernel's warp-specialised form: what it computes, by the program before views are lowered, with the statements of the
 * lowered program that each part needs.
 */
import type { KernelIR } from "../ir/nodes.js";
import { type SpecialisedAttention, specialisedAttention } from "./specialised-attention.js";
import { type SpecialisedGemm, specialisedGemm } from "./specialised-gemm.js";
import { productsIn } from "./tensor-blocks.js";
import { Unsuited, unsuited } from "./unsuited.js";

export type Specialised = SpecialisedGemm | SpecialisedAttention;

/** The form, or why there is none. `lowered` is the same kernel with its views as pointers. */
export function specialise(ir: KernelIR, lowered: KernelIR): Specialised | Unsuited {
  try {
    for (const helper of ir.functions)
      for (const { at } of productsIn(helper.body)) unsuited("it multiplies matrices in a helper function", at);
    return productsIn(ir.body).length > 1 ? specialisedAttention(ir, lowered) : specialisedGemm(ir, lowered);
  } catch (error) {
    if (error instanceof Unsuited) return error;
    throw error;
  }
}
