/** What a kernel's callers give and get, by the types of its params. */
import type { Comparison, Finding, ProgramOrder, Tolerance } from "../contract/compiled.js";
import type { DType, DTypeName, Element, Members } from "../types/dtype.js";
import type { DimsOfParams, DTypeNames, NamesWhere } from "../params/param-names.js";
import type { $param } from "../params/param-types.js";
import type { Flat, IsAny } from "../types/problem.js";
import type { Config } from "../params/spec.js";
import type { NDArray, TypedArray, TypedArrayOf } from "./ndarray.js";

/** The dtypes of a tensor's or pointer's elements; a descriptor's element comes with its block. */
type DTypesOf<T> = T extends { readonly [$param]: readonly [string, infer E, ...any] }
  ? E extends readonly [infer D extends Element, any]
    ? Members<D>
    : Members<E>
  : never;
type RankOf<T> = T extends { readonly [$param]: readonly [string, any, infer Dims extends readonly unknown[], any] }
  ? Dims["length"]
  : 1;
/** A typed array says nothing of its shape, so it stands for one axis. */
type Given<T> = NDArray<DTypesOf<T>> | (RankOf<T> extends 1 ? TypedArrayOf<DTypesOf<T>> : never);

type Read = ["tensor" | "descriptor", any, any, "in" | "inout"] | ["pointer", any];
type Optional = ["optional", any, any, any] | ["optionalPointer", any];
type Written = ["tensor" | "descriptor", any, any, "out" | "inout"] | ["pointer" | "optionalPointer", any];

/** What a launch is given at run time, by name: tensors, scalars, and sizes that no tensor's shape tells. */
export type Inputs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, NDArray | TypedArray | number | null | undefined>>
    : Flat<
        { readonly [K in NamesWhere<P, Read>]: Given<P[K]> } & {
          readonly [K in NamesWhere<P, Optional>]?: Given<P[K]> | null | undefined;
        } & { readonly [K in NamesWhere<P, ["scalar", any]> | Exclude<DimsOfParams<P>, keyof P>]?: number }
      >;

/** Constexprs and launch options, by name. Those of a config that are left out are the first config's. */
export type Constexprs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, any>>
    : Flat<Partial<Config<P>> & { readonly [K in DTypeNames<P>]?: DType<any> | DTypeName }>;

/** What a kernel writes, by name. */
export type Outputs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, NDArray>>
    : { readonly [K in NamesWhere<P, Written>]: NDArray<DTypesOf<P[K]>> };

/** How `evaluate` and `check` run. */
export interface CallOptions {
  /** Over the kernel's own and the defaults of each output's dtype. */
  readonly tolerance?: Partial<Tolerance>;
  /** In which order programs run. Default `sequential`; a result that depends on it is wrong. */
  readonly order?: ProgramOrder;
  /** Also reports the ops that make a NaN out of numbers or an infinity out of finite ones. */
  readonly nonFinite?: boolean;
}

/** How `run` finds its device. */
export interface RunOptions {
  /** Default `auto`: a GPU, else Triton's interpreter, else the evaluator. */
  readonly device?: "auto" | "cuda" | "hip" | "interpreter" | "eval";
  /** The Python executable; by default what `tilescript doctor` shows. */
  readonly python?: string;
}

/** What an evaluation in-process showed. */
export interface KernelEvaluation<P = any> {
  readonly outputs: Outputs<P>;
  /** Whether the outputs agree with the reference; null where there is none that can be evaluated. */
  readonly correct: boolean | null;
  /** How far they are from it. */
  readonly comparison?: Comparison;
  /** What the sanitiser saw: each is a mistake of the kernel, whatever the outputs are. */
  readonly findings: readonly Finding[];
  /** What could not be checked, in words. */
  readonly unchecked: readonly string[];
}

/** What a run on a device gave. */
export interface KernelRun<P = any> {
  readonly outputs: Outputs<P>;
  readonly device: "cuda" | "hip" | "interpreter" | "eval";
  /** Why another device was not taken, and what this one can't show, in words. */
  readonly unchecked: readonly string[];
}

// Here, since the declarations of the package lead here: they leave out what is imported for its values alone.
declare module "../params/kernel.js" {
  interface Kernel<out Name extends string, in out P> {
    /**
     * Runs the kernel in-process on these inputs, every access checked, and compares with its reference.
     *
     * @param inputs tensors as `NDArray` (of one axis also as typed array), scalars, and sizes that no tensor's shape tells
     * @param options constexprs, launch options, and how to evaluate; what is left out of a config is the first config's
     * @throws TileScriptError if the kernel cannot be built, or cannot take these inputs
     */
    evaluate(inputs: Inputs<P>, options?: Constexprs<P> & CallOptions): Promise<KernelEvaluation<P>>;
    /**
     * Evaluates, and throws unless the outputs agree with the reference and the sanitiser is silent.
     *
     * @throws Error that says which element is wrong, or which line and why
     */
    check(inputs: Inputs<P>, options?: Constexprs<P> & CallOptions): Promise<KernelEvaluation<P>>;
    /**
     * Runs what is emitted on the best device there is. On a GPU, Triton's autotuner chooses the config unless some of
     * it is given.
     *
     * @throws TileScriptError at the author's line if the kernel fails there; Error if the device asked for is not there
     */
    run(inputs: Inputs<P>, options?: Constexprs<P> & RunOptions): Promise<KernelRun<P>>;
  }
}
