/**
 * Types of torch in references. `reference: ({ a, b }, torch) => torch.matmul(a, b)` is recorded, not executed. A proxy
 * records the calls, and the emitted module repeats them in Python, so names are torch's own. A trailing object becomes
 * keyword arguments: `x.sum(1, { keepdim: true })`. The types come from the function table; add missing functions by
 * declaration merging.
 */
import type { arithmetic, activations, comparison } from "./elementwise.js";
import type { convolutions } from "./convolution.js";
import type { creation, casts } from "./create.js";
import type { indexing } from "./indexing.js";
import type { normalizations, losses } from "./neural-network.js";
import type { products } from "./product.js";
import type { FunctionsAt } from "./record.js";
import type { reductions, ordering } from "./reduce.js";
import type { shapes } from "./shape.js";
import type { TorchPair, TorchTensor } from "./values.js";
import type { ForeignFacts, foreignDTypes } from "../types/unsupported-names.js";

export type {
  OptionalTorchTensor,
  TorchDType,
  TorchNumber,
  TorchOperand,
  TorchPair,
  TorchScalar,
  TorchTensor,
} from "./values.js";

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

declare module "./values.js" {
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

/** The return value of a reference: the output, or the outputs by name or in order. */
export type TorchResult = TorchTensor | TorchPair | { readonly [output: string]: TorchTensor } | readonly TorchTensor[];
