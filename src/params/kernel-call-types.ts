/** The types of a kernel's call in an operator: its arguments, its results, and the messages for wrong arguments. */
import { wrongCall } from "../diagnostics/catalog/rule-codes.js";
import type { SentenceOf } from "../diagnostics/message.js";
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
/** The arguments by name, including sizes that no tensor has. The type of a wrong argument is an error message. */
export type CallArguments<Name extends string, P, G> =
  IsAny<P> extends true
    ? G
    : [Exclude<RequiredNames<P>, keyof G>] extends [never]
      ? { readonly [K in keyof G]: CallArgument<Name, P, K & string, G[K]> }
      : WhyMissing<Name, Exclude<RequiredNames<P>, keyof G>>;
/** The results: a new tensor for each output. An optional output is included only if the call requests it. */
export type CallResults<P, G> = Flat<{
  readonly [K in Exclude<TensorNames<P, "out">, Exclude<OptionalOutputNames<P>, keyof G>>]: TorchTensor;
}>;

type InputNames<P> = TensorNames<P, "in" | "inout">;
/** Sizes that the shapes of tensors determine. */
type BoundNames<P> = DimsOfParams<Pick<P, RequiredNames<P>>> | OptionalSizes<P>;
/** Sizes that only optional inputs have; 0 if the caller omits those inputs. */
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

/** The message for the call syntax of Triton, `kernel(x)` and `kernel[grid](x)`. */
export type WhyNoFunction = SentenceOf<typeof noFunction>;
const RUN_IT = "write await kernel.run({ x, y }), with its inputs by name";
const noFunction = () => wrongCall("a kernel is no function", RUN_IT);
export const whyNoFunction = (kernel: string) => wrongCall(`${kernel}: ${noFunction().problem}`, RUN_IT);
/** The message for `kernel[grid]` at run time; TypeScript has its own message. */
export const whyNoGrid = (kernel: string) => wrongCall(`${kernel}: the grid stands in the spec`, RUN_IT);

export const whyMissing = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} is missing`, `give ${name}.call({ ${key}, … })`);
type WhyMissing<Name extends string, K extends string> = SentenceOf<typeof whyMissing<Name, K>>;

export const whyTensor = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} is a tensor`, "give an input of the operator, or a result of a kernel or of torch");
type WhyTensor<Name extends string, K extends string> = SentenceOf<typeof whyTensor<Name, K>>;

export const whyNumber = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} is not a tensor`, "give a number, a flag or a dtype");
type WhyNumber<Name extends string, K extends string> = SentenceOf<typeof whyNumber<Name, K>>;

export const whyOutput = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} is an output`, "take it from the call's result");
type WhyOutput<Name extends string, K extends string> = SentenceOf<typeof whyOutput<Name, K>>;

export const OPTIONAL_OUTPUT = "is an output that may be left out";
export const whyAsked = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} ${OPTIONAL_OUTPUT}`, "give true to have it");
type WhyAsked<Name extends string, K extends string> = SentenceOf<typeof whyAsked<Name, K>>;

export const whyBound = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: ${key} follows from the shapes of the tensors`, "leave it out");
type WhyBound<Name extends string, K extends string> = SentenceOf<typeof whyBound<Name, K>>;

/** The message for a constexpr that a config, a heuristic or a launch determines. */
export const whyDecided = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: the kernel determines ${key}`, "leave it out");
type WhyDecided<Name extends string, K extends string> = SentenceOf<typeof whyDecided<Name, K>>;

export const whyUnknown = <Name extends string, K extends string>(name: Name, key: K) =>
  wrongCall(`${name}.call: there is no argument ${key}`, `leave it out, or declare it in the params of ${name}`);
type WhyUnknown<Name extends string, K extends string> = SentenceOf<typeof whyUnknown<Name, K>>;
