/** The types of `op`: what an operator declares, what its functions receive, and what a kernel's call takes and gives. */
import type { Args } from "./args.js";
import type { TensorNames } from "./param-names.js";
import type { OptionalParam, Params, TensorParam } from "./params.js";
import type { Spec } from "./spec.js";
import type { OptionalTorchTensor, Torch, TorchScalar, TorchTensor } from "./torch.js";

/** As a kernel's, but for what decides how a kernel is launched. */
export type OperatorSpec<P, Derived extends string = never> = Pick<
  Spec<P, Derived>,
  "doc" | "params" | "dims" | "inputs" | "reference" | "shapes" | "tolerance"
>;

/** Inputs as tensors of torch; sizes, numbers and flags as numbers of Python. */
export type OperatorInputs<P, Derived extends string = never> = {
  readonly [K in Exclude<keyof Args<P, Derived>, TensorNames<P, "out">>]: K extends keyof P
    ? P[K] extends OptionalParam<any, any, any>
      ? OptionalTorchTensor
      : P[K] extends TensorParam<any, any, any>
        ? TorchTensor
        : TorchScalar
    : TorchScalar;
};
type Tensors = Readonly<Record<string, TorchTensor>>;
/** Every output that is declared; anything more is kept for `backward`. */
export type OperatorResults<P> = { readonly [K in TensorNames<P, "out">]: TorchTensor };
/** Gradients of some inputs: a tensor under each name, and a sentence where the name is none of theirs. */
export type InputGradients<P, G> = {
  readonly [K in keyof G]: K extends TensorNames<P, "in">
    ? TorchTensor
    : `op: no input is called ${K & string}; backward gives gradients by the names of inputs`;
};

/** An operator, as `op(name, spec, forward, backward)` returns it. */
export interface Operator<Name extends string, P> {
  readonly name: Name;
  readonly spec: { readonly params: P };
}
/** Calls kernels, and gives the outputs and what the gradient needs. */
type Forward<P, Derived extends string, R> = (inputs: OperatorInputs<P, NoInfer<Derived>>, torch: Torch) => R;
type Backward<P, Derived extends string, R, G> = (
  known: OperatorInputs<P, NoInfer<Derived>> & NoInfer<R>,
  gradients: OperatorResults<P>,
  torch: Torch,
) => InputGradients<P, G>;

/** The signature of `op`. Two, because the checker looks into a function for what is wrong only where it must be given. */
export interface OperatorFunction {
  <
    const Name extends string,
    const P extends Params,
    R extends OperatorResults<P> & Tensors,
    const Derived extends string = never,
  >(
    name: Name,
    spec: OperatorSpec<P, Derived>,
    forward: Forward<P, Derived, R>,
  ): Operator<Name, P>;
  <
    const Name extends string,
    const P extends Params,
    R extends OperatorResults<P> & Tensors,
    G,
    const Derived extends string = never,
  >(
    name: Name,
    spec: OperatorSpec<P, Derived>,
    forward: Forward<P, Derived, R>,
    backward: Backward<P, Derived, R, G>,
  ): Operator<Name, P>;
}
