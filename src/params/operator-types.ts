/** The types of `op`: its spec, and the arguments and results of its functions. */
import { wrongGradient, wrongOperatorResult } from "../diagnostics/catalog/rule-codes.js";
import type { SentenceOf } from "../diagnostics/message.js";
import type { Args } from "./args.js";
import type { TensorNames } from "./param-names.js";
import type { OptionalParam, Params, TensorParam } from "./param-types.js";
import type { Spec } from "./spec.js";
import type { OptionalTorchTensor, Torch, TorchScalar, TorchTensor } from "../torch/types.js";

/** A kernel's spec without the fields for launching. */
export type OperatorSpec<P, Derived extends string = never> = Pick<
  Spec<P, Derived>,
  "doc" | "params" | "dims" | "inputs" | "reference" | "shapes" | "tolerance"
>;

/** Inputs as PyTorch tensors; sizes, numbers and flags as Python numbers. */
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
/**
 * Every declared output, and additional tensors for `backward`. The type of a missing or wrong result is an error
 * message.
 */
export type OperatorResults<Name extends string, P, R> = [Exclude<TensorNames<P, "out">, keyof R>] extends [never]
  ? { readonly [K in keyof R]: R[K] extends TorchTensor ? R[K] : WhyResult<Name, K & string> }
  : WhyNoResult<Name, Exclude<TensorNames<P, "out">, keyof R>>;
/** Gradients of some inputs: one tensor per name. The type under any other name is an error message. */
export type InputGradients<Name extends string, P, G> = {
  readonly [K in keyof G]: K extends TensorNames<P, "in">
    ? G[K] extends TorchTensor
      ? G[K]
      : WhyResult<Name, K & string>
    : WhyNoInput<Name, K & string>;
};

export const whyNoResult = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongOperatorResult(`${name}: the function does not return ${key}`, `return it by name, { ${key} }`);
type WhyNoResult<Name extends string, K extends string> = SentenceOf<typeof whyNoResult<Name, K>>;

export const whyResult = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongOperatorResult(
    `${name}: the function returns ${key}, which is not a tensor`,
    "return a result of a kernel or of torch",
  );
type WhyResult<Name extends string, K extends string> = SentenceOf<typeof whyResult<Name, K>>;

export const whyNoInput = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongGradient(`${name}: backward returns ${key}, which is not an input`, "return gradients by the names of inputs");
type WhyNoInput<Name extends string, K extends string> = SentenceOf<typeof whyNoInput<Name, K>>;

/** An operator, as `op(name, spec, forward, backward)` returns it. */
export interface Operator<Name extends string, P> {
  readonly name: Name;
  readonly spec: { readonly params: P };
}
/** The forward function: calls kernels, and returns the outputs and additional tensors for `backward`. */
type Forward<Name extends string, P, Derived extends string, R> = (
  inputs: OperatorInputs<P, NoInfer<Derived>>,
  torch: Torch,
) => OperatorResults<Name, P, R>;
type Backward<Name extends string, P, Derived extends string, R, G> = (
  saved: OperatorInputs<P, NoInfer<Derived>> & NoInfer<R>,
  gradients: OutputGradients<P>,
  torch: Torch,
) => InputGradients<Name, P, G>;

/**
 * The signatures of `op`. There are two, because TypeScript reports errors inside a function only if the parameter is
 * required.
 */
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
