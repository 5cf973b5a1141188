/** The types of a call's arguments and results, derived from the types of the kernel's params. */
import type { DeviceProperties, DeviceName } from "../compiled/gpus.js";
import type { Comparison, Finding, GivenTolerance, ProgramOrder } from "../compiled/compiled-kernel.js";
import type { DType, DTypeName, Element, Members } from "../types/dtype.js";
import type { OptionalOutputNames, DimsOfParams, DTypeNames, NamesWhere } from "../params/param-names.js";
import type { $param } from "../params/param-types.js";
import type { Flat, IsAny } from "../types/rule-error.js";
import type { Config } from "../params/spec.js";
import type { NDArray, TypedArray, TypedArrayOf } from "./ndarray.js";

/** The dtypes of a tensor's or pointer's elements. A descriptor's element type includes its block. */
type DTypesOf<T> = T extends { readonly [$param]: readonly [string, infer E, ...any] }
  ? E extends readonly [infer D extends Element, any]
    ? Members<D>
    : Members<E>
  : never;
type RankOf<T> = T extends { readonly [$param]: readonly [string, any, infer Dims extends readonly unknown[], any] }
  ? Dims["length"]
  : 1;
/** A typed array has no shape, so it is allowed only for a tensor with one axis. */
type ArrayArgument<T> = NDArray<DTypesOf<T>> | (RankOf<T> extends 1 ? TypedArrayOf<DTypesOf<T>> : never);

type ReadParam = ["tensor" | "descriptor", any, any, "in" | "inout"] | ["pointer", any];
type OptionalParam = ["optional", any, any, any] | ["optionalPointer", any];
/** Written only if the caller passes or requests it. */
type OptionallyWrittenParam = ["optional", any, any, "out" | "inout"];
type WrittenParam = ["tensor" | "descriptor", any, any, "out" | "inout"] | ["pointer" | "optionalPointer", any];

/** The run-time arguments of a launch by name: tensors, scalars, and sizes that no tensor's shape determines. */
export type Inputs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, NDArray | TypedArray | number | boolean | null | undefined>>
    : Flat<
        { readonly [K in NamesWhere<P, ReadParam>]: ArrayArgument<P[K]> } & {
          /** For an output: true if the kernel should compute it. */
          readonly [K in NamesWhere<P, OptionalParam>]?:
            (K extends OptionalOutputNames<P> ? boolean : ArrayArgument<P[K]>) | null | undefined;
        } & { readonly [K in NamesWhere<P, ["scalar", any]> | Exclude<DimsOfParams<P>, keyof P>]?: number }
      >;

/** Constexprs and launch options by name. Omitted config options are those of the first config. */
export type Constexprs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, any>>
    : Flat<Partial<Config<P>> & { readonly [K in DTypeNames<P>]?: DType<any> | DTypeName }>;

/** The tensors that a kernel writes, by name. */
export type Outputs<P> =
  IsAny<P> extends true
    ? Readonly<Record<string, NDArray>>
    : [NamesWhere<P, OptionallyWrittenParam>] extends [never]
      ? { readonly [K in NamesWhere<P, WrittenParam>]: NDArray<DTypesOf<P[K]>> }
      : Flat<
          { readonly [K in NamesWhere<P, WrittenParam>]: NDArray<DTypesOf<P[K]>> } & {
            readonly [K in NamesWhere<P, OptionallyWrittenParam>]?: NDArray<DTypesOf<P[K]>>;
          }
        >;

/** Options of `evaluate` and `check`. */
export interface CallOptions {
  /** Overrides the kernel's tolerance and the defaults of each output's dtype. */
  readonly tolerance?: GivenTolerance;
  /** The order in which programs run, by default `sequential`. A result that depends on it is wrong. */
  readonly order?: ProgramOrder;
  /** Properties of the GPU that a launch depends on. Default: those of an NVIDIA H200. */
  readonly gpu?: Partial<DeviceProperties>;
  /** Also reports ops that compute NaN from numbers or infinity from finite ones. */
  readonly nonFinite?: boolean;
}

/** Options of `run`. */
export interface RunOptions {
  /**
   * The device. Default: `auto`, which is a GPU, otherwise Triton's interpreter, otherwise the evaluator.
   * `docs/devices.md` lists all.
   */
  readonly device?: DeviceName;
  /** The Python executable, by default the one that `tilescript doctor` shows. */
  readonly python?: string;
}

/** The result of an in-process evaluation. */
export interface KernelEvaluation<P = any> {
  readonly outputs: Outputs<P>;
  /** True if the outputs agree with the reference; null if no reference can be evaluated. */
  readonly correct: boolean | null;
  /** The differences from the reference. */
  readonly comparison?: Comparison;
  /** The sanitizer's findings: each is a mistake of the kernel, even if the outputs are correct. */
  readonly findings: readonly Finding[];
  /** Aspects that could not be checked, as text. */
  readonly unchecked: readonly string[];
}

/** The result of a run on a device. */
export interface KernelRun<P = any> {
  readonly outputs: Outputs<P>;
  readonly device: "cuda" | "hip" | "interpreter" | "eval";
  /** The reason why no other device ran it, and aspects that this one cannot check, as text. */
  readonly unchecked: readonly string[];
}

// This augmentation must be in a file that the package's declarations import for its types. They drop other imports.
declare module "../params/kernel.js" {
  interface Kernel<out Name extends string, in out P> {
    /**
     * Runs the kernel in-process on these inputs, checks every access, and compares with the reference.
     *
     * @param inputs tensors as `NDArray` (with one axis also as typed array), scalars, and sizes that no shape
     * determines
     * @param options constexprs, launch options and evaluation options; omitted config options are the first config's
     * @throws TileScriptError if the kernel cannot be built, or cannot take these inputs
     */
    evaluate(inputs: Inputs<P>, options?: Constexprs<P> & CallOptions): Promise<KernelEvaluation<P>>;
    /**
     * Evaluates, and throws unless the outputs agree with the reference and there are no findings.
     *
     * @throws Error that names the wrong element, or the first finding and its line
     */
    check(inputs: Inputs<P>, options?: Constexprs<P> & CallOptions): Promise<KernelEvaluation<P>>;
    /**
     * Runs the emitted Python on the best available device. On a GPU, Triton's autotuner chooses the config unless the
     * options set part of it.
     *
     * @throws TileScriptError at the author's line if the kernel fails; Error if the requested device is missing
     */
    run(inputs: Inputs<P>, options?: Constexprs<P> & RunOptions): Promise<KernelRun<P>>;
  }
}
