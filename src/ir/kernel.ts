/** A kernel as types: what `kernel` takes and gives, and its call in an operator. */
import type { Args } from "./args.js";
import type { DimsOfParams, DTypeNames, FlagNames, NamesWhere, ScalarNames, TensorNames } from "./param-names.js";
import type { Params } from "./params.js";
import type { Flat } from "./problem.js";
import type { Spec } from "./spec.js";
import type { TorchDType, TorchNumber, TorchTensor } from "./torch.js";

/** What a kernel's call in an operator takes, by name. Sizes are given where no tensor has them. */
export type CallArguments<P> = Flat<
  { readonly [K in RequiredTensorNames<P>]: TorchTensor } & {
    readonly [K in Exclude<TensorNames<P, "in" | "inout">, RequiredTensorNames<P>>]?: TorchTensor | null;
  } & { readonly [K in ScalarNames<P> | FlagNames<P> | DTypeNames<P> | DimsOfParams<P>]?: CallNumber }
>;
type CallNumber = TorchNumber | TorchDType | boolean;
type RequiredTensorNames<P> = NamesWhere<P, ["tensor", any, any, "in" | "inout"]>;
/** What it gives: a new tensor for each output. */
export type CallResults<P> = { readonly [K in TensorNames<P, "out">]: TorchTensor };

/** A kernel, as `kernel(name, spec, body)` returns it. */
export interface Kernel<out Name extends string, in out P> {
  readonly name: Name;
  readonly params: P;
  /** Calls it inside `op(…)`: outputs are new tensors, and tensors that it updates change. */
  call(given: CallArguments<P>): CallResults<P>;
}
/** The signature of `kernel`. To `void` alone the checker would let any function pass: hence the sentence. */
export type KernelFunction = <
  const Name extends string,
  const P extends Params,
  const Derived extends string = never,
  const Heuristic extends string = never,
>(
  name: Name,
  spec: Spec<P, Derived, Heuristic>,
  body: (args: Args<P, NoInfer<Derived>>) => void | "kernel: a body returns nothing; tl.store its results",
) => Kernel<Name, P>;
