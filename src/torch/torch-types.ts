/**
 * Torch as a reference sees it. `reference: ({ a, b }, torch) => torch.matmul(a, b)` is recorded, not run: a proxy notes
 * the calls and the emitted module repeats them in Python, so names are torch's own. A trailing object becomes keyword
 * arguments: `x.sum(1, { keepdim: true })`. The types are those of the records; declare what is missing through
 * declaration merging.
 */
import type { activations } from "./torch-activation.js";
import type { arithmetic } from "./torch-arithmetic.js";
import type { casts } from "./torch-cast.js";
import type { comparison } from "./torch-comparison.js";
import type { convolutions } from "./torch-convolution.js";
import type { creation } from "./torch-create.js";
import type { indexing } from "./torch-index.js";
import type { losses } from "./torch-loss.js";
import type { normalizations } from "./torch-normalize.js";
import type { ordering } from "./torch-order.js";
import type { products } from "./torch-product.js";
import type { FunctionsAt } from "./torch-record.js";
import type { reductions } from "./torch-reduce.js";
import type { shapes } from "./torch-shape.js";
import type { TorchPair, TorchTensor } from "./torch-values.js";
import type { ForeignFacts, foreignDTypes } from "../types/foreign.js";

export type {
  OptionalTorchTensor,
  TorchDType,
  TorchNumber,
  TorchOperand,
  TorchPair,
  TorchScalar,
  TorchTensor,
} from "./torch-values.js";

/** Functions of `torch`. */
export interface Torch
  extends
    FunctionsAt<"torch", typeof arithmetic>,
    FunctionsAt<"torch", typeof comparison>,
    FunctionsAt<"torch", typeof reductions>,
    FunctionsAt<"torch", typeof products>,
    FunctionsAt<"torch", typeof shapes>,
    FunctionsAt<"torch", typeof indexing>,
    FunctionsAt<"torch", typeof ordering>,
    FunctionsAt<"torch", typeof creation>,
    FunctionsAt<"torch", typeof activations>,
    ForeignFacts<typeof foreignDTypes, "torch in a reference"> {
  readonly nn: { readonly functional: TorchFunctional };
}

/** Functions of `torch.nn.functional`. */
export interface TorchFunctional
  extends
    FunctionsAt<"functional", typeof reductions>,
    FunctionsAt<"functional", typeof products>,
    FunctionsAt<"functional", typeof activations>,
    FunctionsAt<"functional", typeof normalizations>,
    FunctionsAt<"functional", typeof losses>,
    FunctionsAt<"functional", typeof convolutions> {}

declare module "./torch-values.js" {
  interface TorchTensor
    extends
      FunctionsAt<"method", typeof arithmetic>,
      FunctionsAt<"method", typeof comparison>,
      FunctionsAt<"method", typeof reductions>,
      FunctionsAt<"method", typeof casts>,
      FunctionsAt<"method", typeof products>,
      FunctionsAt<"method", typeof shapes>,
      FunctionsAt<"method", typeof indexing>,
      FunctionsAt<"method", typeof ordering>,
      FunctionsAt<"method", typeof activations> {}
}

/** What a reference returns: the output, or the outputs by name or in order. */
export type TorchResult = TorchTensor | TorchPair | { readonly [output: string]: TorchTensor } | readonly TorchTensor[];
