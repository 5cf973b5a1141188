/** The types of `op`: what an operator declares, what its functions receive, and what a kernel's call takes and gives. */
import type { Args } from "./args.js";
import type { TensorNames } from "./param-names.js";
import type { OptionalParam, Params, TensorParam } from "./param-types.js";
import type { Spec } from "./spec.js";
import type { OptionalTorchTensor, Torch, TorchScalar, TorchTensor } from "../torch/torch-types.js";

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
/** The gradients of outputs. */
export type OutputGradients<P> = { readonly [K in TensorNames<P, "out">]: TorchTensor };
/** Every output that is declared, and what more is kept for `backward`; a sentence where one is missing or no tensor. */
export type OperatorResults<Name extends string, P, R> = [Exclude<TensorNames<P, "out">, keyof R>] extends [never]
  ? { readonly [K in keyof R]: R[K] extends TorchTensor ? R[K] : WhyResult<Name, K & string> }
  : WhyNoResult<Name, Exclude<TensorNames<P, "out">, keyof R>>;
/** Gradients of some inputs: a tensor under each name, and a sentence where the name is none of theirs. */
export type InputGradients<Name extends string, P, G> = {
  readonly [K in keyof G]: K extends TensorNames<P, "in">
    ? G[K] extends TorchTensor
      ? G[K]
      : WhyResult<Name, K & string>
    : WhyNoInput<Name, K & string>;
};

type WhyNoResult<
  Name extends string,
  K extends string,
> = `${Name}: its function returns no ${K}; return it by its name, { ${K} }`;
export const whyNoResult = (name: string, key: string): string =>
  `${name}: its function returns no ${key}; return it by its name, { ${key} }`;

type WhyResult<
  Name extends string,
  K extends string,
> = `${Name}: ${K} is returned, and is no tensor; return what a kernel or torch gave`;
export const whyResult = (name: string, key: string): string =>
  `${name}: ${key} is returned, and is no tensor; return what a kernel or torch gave`;

type WhyNoInput<
  Name extends string,
  K extends string,
> = `${Name}: backward returns ${K}, which is no input; return gradients by the names of inputs`;
export const whyNoInput = (name: string, key: string): string =>
  `${name}: backward returns ${key}, which is no input; return gradients by the names of inputs`;

/** An operator, as `op(name, spec, forward, backward)` returns it. */
export interface Operator<Name extends string, P> {
  readonly name: Name;
  readonly spec: { readonly params: P };
}
/** Calls kernels, and gives the outputs and what the gradient needs. */
type Forward<Name extends string, P, Derived extends string, R> = (
  inputs: OperatorInputs<P, NoInfer<Derived>>,
  torch: Torch,
) => OperatorResults<Name, P, R>;
type Backward<Name extends string, P, Derived extends string, R, G> = (
  known: OperatorInputs<P, NoInfer<Derived>> & NoInfer<R>,
  gradients: OutputGradients<P>,
  torch: Torch,
) => InputGradients<Name, P, G>;

/** The signature of `op`. Two, because the checker looks into a function for what is wrong only where it must be given. */
export interface OperatorFunction {
  <const Name extends string, const P extends Params, R, const Derived extends string = never>(
    name: Name,
    spec: OperatorSpec<P, Derived>,
    forward: Forward<Name, P, Derived, R>,
  ): Operator<Name, P>;
  <const Name extends string, const P extends Params, R, G, const Derived extends string = never>(
    name: Name,
    spec: OperatorSpec<P, Derived>,
    forward: Forward<Name, P, Derived, R>,
    backward: Backward<Name, P, Derived, R, G>,
  ): Operator<Name, P>;
}
