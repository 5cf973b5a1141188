/** A kernel's call in an operator: what it takes and gives, and what is said where an argument is wrong. */
import type { DimsOfParams, DTypeNames, FlagNames, NamesWhere, ScalarNames, TensorNames } from "./param-names.js";
import type { Flat, IsAny } from "../types/problem.js";
import type { TorchDType, TorchNumber, TorchTensor } from "../torch/torch-types.js";

/** Arguments that may be given, for the editor to list: tensors, and numbers where the caller decides them. */
export type CallNames<P> = { readonly [K in InputNames<P> | NumberNames<P>]?: unknown };
/** What the call takes, by name: sizes where no tensor has them. A sentence stands for what does not fit. */
export type CallArguments<Name extends string, P, G> =
  IsAny<P> extends true
    ? G
    : [Exclude<RequiredNames<P>, keyof G>] extends [never]
      ? { readonly [K in keyof G]: CallArgument<Name, P, K & string, G[K]> }
      : WhyMissing<Name, Exclude<RequiredNames<P>, keyof G>>;
/** What it gives: a new tensor for each output. */
export type CallResults<P> = Flat<{ readonly [K in TensorNames<P, "out">]: TorchTensor }>;

type InputNames<P> = TensorNames<P, "in" | "inout">;
/** Sizes that the shapes of tensors give. */
type BoundNames<P> = DimsOfParams<Pick<P, RequiredNames<P>>>;
type NumberNames<P> = ScalarNames<P> | FlagNames<P> | DTypeNames<P> | Exclude<DimsOfParams<P>, BoundNames<P>>;
type RequiredNames<P> = NamesWhere<P, ["tensor" | "descriptor", any, any, "in" | "inout"]>;
type CallArgument<Name extends string, P, K extends string, V> =
  K extends InputNames<P>
    ? V extends TorchTensor | (K extends RequiredNames<P> ? never : null | undefined)
      ? V
      : WhyTensor<Name, K>
    : K extends NumberNames<P>
      ? V extends TorchNumber | TorchDType | boolean | undefined
        ? V
        : WhyNumber<Name, K>
      : K extends TensorNames<P, "out">
        ? WhyOutput<Name, K>
        : K extends BoundNames<P>
          ? WhyBound<Name, K>
          : K extends keyof P
            ? WhyDecided<Name, K>
            : WhyUnknown<Name, K>;

// ---- sentences ------------------------------------------------------------------------------------------------------

type WhyMissing<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is missing; give ${Name}.call({ ${K}, … })`;
export const whyMissing = (name: string, key: string): string =>
  `${name}.call: ${key} is missing; give ${name}.call({ ${key}, … })`;

type WhyTensor<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is a tensor; give one of the operator's, or what a kernel or torch gave`;
export const whyTensor = (name: string, key: string): string =>
  `${name}.call: ${key} is a tensor; give one of the operator's, or what a kernel or torch gave`;

type WhyNumber<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is no tensor; give a number, a flag or a dtype`;
export const whyNumber = (name: string, key: string): string =>
  `${name}.call: ${key} is no tensor; give a number, a flag or a dtype`;

type WhyOutput<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is an output; take it from what the call gives`;
export const whyOutput = (name: string, key: string): string =>
  `${name}.call: ${key} is an output; take it from what the call gives`;

type WhyBound<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is read off the shapes of its tensors; leave it out`;
export const whyBound = (name: string, key: string): string =>
  `${name}.call: ${key} is read off the shapes of its tensors; leave it out`;

/** Of what a config, a heuristic or a launch decides. */
type WhyDecided<Name extends string, K extends string> = `${Name}.call: ${K} is decided by the kernel; leave it out`;
export const whyDecided = (name: string, key: string): string =>
  `${name}.call: ${key} is decided by the kernel; leave it out`;

type WhyUnknown<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is no argument; leave it out, or declare it in the params of ${Name}`;
export const whyUnknown = (name: string, key: string): string =>
  `${name}.call: ${key} is no argument; leave it out, or declare it in the params of ${name}`;
