/** The types of a kernel's call in an operator: its arguments, its results, and the messages for wrong arguments. */
import type {
  OptionalOutputNames,
  DimsOfParams,
  DTypeNames,
  FlagNames,
  NamesWhere,
  ScalarNames,
  TensorNames,
} from "./param-names.js";
import type { Flat, IsAny } from "../types/rule-error.js";
import type { TorchDType, TorchNumber, TorchTensor } from "../torch/types.js";

/** The possible arguments, for the editor to list: tensors, and the numbers that the caller chooses. */
export type CallNames<P> = { readonly [K in InputNames<P> | NumberNames<P> | OptionalOutputNames<P>]?: unknown };
/** The arguments by name, including sizes that no tensor has. The type of a wrong argument is a message. */
export type CallArguments<Name extends string, P, G> =
  IsAny<P> extends true
    ? G
    : [Exclude<RequiredNames<P>, keyof G>] extends [never]
      ? { readonly [K in keyof G]: CallArgument<Name, P, K & string, G[K]> }
      : WhyMissing<Name, Exclude<RequiredNames<P>, keyof G>>;
/** The results: a new tensor for each output; of those that may be left out, for each that the call asks for. */
export type CallResults<P, G> = Flat<{
  readonly [K in Exclude<TensorNames<P, "out">, Exclude<OptionalOutputNames<P>, keyof G>>]: TorchTensor;
}>;

type InputNames<P> = TensorNames<P, "in" | "inout">;
/** Sizes that the shapes of tensors determine. */
type BoundNames<P> = DimsOfParams<Pick<P, RequiredNames<P>>> | OptionalSizes<P>;
/** Sizes of optional inputs that no required tensor has; 0 where those are left out. */
type OptionalSizes<P> = Exclude<
  DimsOfParams<Pick<P, NamesWhere<P, ["optional", any, any, "in" | "inout"]>>>,
  keyof P | DimsOfParams<Pick<P, NamesWhere<P, ["tensor" | "descriptor", any, any, any]>>>
>;
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
      : K extends OptionalOutputNames<P>
        ? V extends true
          ? V
          : WhyAsked<Name, K>
        : K extends TensorNames<P, "out">
          ? WhyOutput<Name, K>
          : K extends BoundNames<P>
            ? WhyBound<Name, K>
            : K extends keyof P
              ? WhyDecided<Name, K>
              : WhyUnknown<Name, K>;

// ---- messages -------------------------------------------------------------------------------------------------------

/** What Triton's authors write first: `kernel(x)` and `kernel[grid](x)`. */
export type WhyNoFunction = "a kernel is no function; write await kernel.run({ x, y }), with its inputs by name";
export const whyNoFunction: WhyNoFunction =
  "a kernel is no function; write await kernel.run({ x, y }), with its inputs by name";
/** The checker has words of its own for `kernel[grid]`. */
export const whyNoGrid = "the grid stands in the spec; write await kernel.run({ x, y }), with its inputs by name";

type WhyMissing<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is missing; give ${Name}.call({ ${K}, … })`;
export const whyMissing = (name: string, key: string): string =>
  `${name}.call: ${key} is missing; give ${name}.call({ ${key}, … })`;

type WhyTensor<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is a tensor; give an input of the operator, or a result of a kernel or of torch`;
export const whyTensor = (name: string, key: string): string =>
  `${name}.call: ${key} is a tensor; give an input of the operator, or a result of a kernel or of torch`;

type WhyNumber<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is not a tensor; give a number, a flag or a dtype`;
export const whyNumber = (name: string, key: string): string =>
  `${name}.call: ${key} is not a tensor; give a number, a flag or a dtype`;

type WhyOutput<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is an output; take it from the call's result`;
export const whyOutput = (name: string, key: string): string =>
  `${name}.call: ${key} is an output; take it from the call's result`;

type WhyAsked<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} is an output that may be left out; give true to have it`;
export const whyAsked = (name: string, key: string): string =>
  `${name}.call: ${key} is an output that may be left out; give true to have it`;

type WhyBound<
  Name extends string,
  K extends string,
> = `${Name}.call: ${K} follows from the shapes of the tensors; leave it out`;
export const whyBound = (name: string, key: string): string =>
  `${name}.call: ${key} follows from the shapes of the tensors; leave it out`;

/** For a constexpr that a config, a heuristic or a launch determines. */
type WhyDecided<Name extends string, K extends string> = `${Name}.call: the kernel determines ${K}; leave it out`;
export const whyDecided = (name: string, key: string): string =>
  `${name}.call: the kernel determines ${key}; leave it out`;

type WhyUnknown<
  Name extends string,
  K extends string,
> = `${Name}.call: there is no argument ${K}; leave it out, or declare it in the params of ${Name}`;
export const whyUnknown = (name: string, key: string): string =>
  `${name}.call: there is no argument ${key}; leave it out, or declare it in the params of ${name}`;
