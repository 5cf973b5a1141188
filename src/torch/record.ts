/**
 * The record of a torch function: where it stands in torch and its type there, its parameters, its value in float64, and
 * the facts that Python and the evaluator need.
 */
import type { TorchArray } from "./array.js";
import type { DTypeName } from "../types/dtype.js";
import type { Args } from "./call.js";
import type { TorchTensor } from "./values.js";

/** How a function is called: `torch.sum(x)`, `torch.nn.functional.gelu(x)` or `x.sum()`. */
export type CallForm = "torch" | "functional" | "method";

/** What a function is, wherever it stands. */
export interface TorchFunction {
  /** Torch's names of the parameters, in order. */
  readonly params: readonly string[];
  /** Takes all further positional arguments, as a list. */
  readonly rest?: string;
  /** What PyTorch has no default for, besides the first parameter. */
  readonly needs?: readonly string[];
  /**
   * The value in float64. `random` gives uniform numbers in [0, 1); `isTruth` tells whether a parameter is given truth
   * values, which are numbers here.
   */
  run(
    args: Args,
    random: () => number,
    isTruth: (param: string) => boolean,
  ): TorchArray | number | readonly TorchArray[];
  /** When the (first) result holds truth values: always, or if all these parameters do. Never where it is left out. */
  readonly truth?: "always" | readonly string[];
  /** The parameters whose integers decide the dtype of the result's: the promoted one, or int64 if it `widens`. */
  readonly integers?: readonly string[];
  readonly widens?: true;
  /** The result shares the memory of the first parameter, or may. */
  readonly views?: true;
  /** The result may share the memory of what this parameter lists, where that is one tensor. */
  readonly viewsOnly?: string;
  /** Makes a tensor of none, so that Python must name a device. */
  readonly makes?: true;
  /** Its elements are not set: only what is written to them later is known. */
  readonly unset?: true;
  /** Draws random numbers, which only `inputs` may do. */
  readonly draws?: true;
  /** Casts its first parameter to a dtype of its own. */
  readonly casts?: DTypeName;
  /** Casts its first parameter to the dtype that this parameter names. */
  readonly castsTo?: string;
  /** The result is a Python number. */
  readonly number?: true;
}

export type Facts = Pick<TorchFunction, "truth" | "views" | "integers" | "widens">;

/** A record with its places. `Types` has the function's type at each of them. */
export interface TorchRecord<Types> extends TorchFunction {
  readonly places: readonly CallForm[];
  /** Never there: it carries the types. */
  readonly types?: Types;
}

/** The method's type: the function's without its first parameter. */
type Method<F> = F extends (input: any, ...rest: infer Rest) => infer Result ? (...rest: Rest) => Result : never;

// Interfaces, whose members are computed when they are asked for: tensors have these methods, and methods take tensors.
export interface Both<F> {
  torch: F;
  method: Method<F>;
}
export interface Everywhere<F, N> extends Both<F> {
  functional: N;
}

type TypesOf<UntypedRecord> = UntypedRecord extends TorchRecord<infer Types> ? Types : never;

type NamesAt<At extends CallForm, Table> = {
  [Name in keyof Table]: At extends keyof TypesOf<Table[Name]> ? Name : never;
}[keyof Table];

/** The functions of a table that stand at a place, each with its type there. */
export type FunctionsAt<At extends CallForm, Table> = Picked<At, Table, NamesAt<At, Table>>;

// Without a clause `as`, so that the editor shows the comments of the records.
type Picked<At extends CallForm, Table, Names extends keyof Table> = {
  readonly [Name in Names]: TypesOf<Table[Name]>[At & keyof TypesOf<Table[Name]>];
};

/** In `torch` and as a method. */
export const both = <F>(f: TorchFunction): TorchRecord<Both<F>> => ({ ...f, places: ["torch", "method"] });

/** In `torch` and as a method, where the function is overloaded, so that the method's type has to be said. */
export const overloaded = <F, M>(f: TorchFunction): TorchRecord<{ torch: F; method: M }> => ({
  ...f,
  places: ["torch", "method"],
});

/** In `torch` only. */
export const inTorch = <F>(f: TorchFunction): TorchRecord<{ torch: F }> => ({ ...f, places: ["torch"] });

/** As a method only. */
export const method = <M>(f: TorchFunction): TorchRecord<{ method: M }> => ({ ...f, places: ["method"] });

/** In `torch.nn.functional` only. */
export const functional = <N>(f: TorchFunction): TorchRecord<{ functional: N }> => ({ ...f, places: ["functional"] });

/** In `torch`, in `torch.nn.functional`, with the type `N` there, and as a method. */
export const everywhere = <F, N = F>(f: TorchFunction): TorchRecord<Everywhere<F, N>> => ({
  ...f,
  places: ["torch", "functional", "method"],
});

/** The type of many functions. */
export type Unary = (input: TorchTensor) => TorchTensor;
