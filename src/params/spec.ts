/** The spec of a kernel: everything except its body. */
import type { KernelTargets } from "../compiled/gpus.js";
import type { Device, HostArgs } from "./args.js";
import type {
  ConstNames,
  DimsOfParams,
  DTypeNames,
  FlagNames,
  FreeSizes,
  ResetNames,
  RestoreNames,
  ScalarNames,
  SizeNames,
  TensorNames,
} from "./param-names.js";
import type { CheckedParams } from "./param-kind.js";
import type { ChoiceOf, ConstexprParam, HostInt, OptionalParam, Requirement } from "./param-types.js";
import type { Flat, Problem } from "../types/rule-error.js";
import type { OptionalTorchTensor, Torch, TorchDType, TorchResult, TorchScalar, TorchTensor } from "../torch/types.js";

export interface LaunchOptions {
  /** The number of warps per program: a power of two, by default 4. */
  readonly numWarps?: number;
  /** The number of pipeline stages: loop iterations that the compiler overlaps, by default 3. */
  readonly numStages?: number;
  /** The number of thread blocks in the cluster that runs one program (sm_90 and later), by default 1. */
  readonly numCtas?: number;
  /** The maximum number of registers per thread, on NVIDIA GPUs. AMD's compiler has no equivalent option. */
  readonly maxnreg?: number;
}
/** Driver options of every launch, for all configs. */
export interface DriverOptions {
  /** Programmatic dependent launch: the kernel may start before the previous one ends (CUDA, sm_90 and later). */
  readonly launchPdl?: boolean;
  /** Launches all programs at the same time, so that they may wait for each other. */
  readonly launchCooperativeGrid?: boolean;
  /**
   * Allows the compiler to fuse a product and a sum into one instruction that rounds once. Triton 3.6 and 3.9 do this
   * by default, and Triton 3.9 warns that the default changes in 3.10. Set this option to fix the behavior and to
   * silence the warning.
   */
  readonly enableFpFusion?: boolean;
}
type FlagValue<P, K> = K extends keyof P
  ? P[K] extends ConstexprParam<"bool">
    ? boolean
    : P[K] extends ConstexprParam<ChoiceOf<infer C>>
      ? C
      : number
  : never;
/** One set of constexprs and launch options: every size, optional flags, and no constexpr that a heuristic computes. */
export type Config<P, Heuristic extends string = never> = Flat<
  { readonly [K in Exclude<SizeNames<P>, Heuristic>]: number } & {
    readonly [K in Exclude<FlagNames<P>, Heuristic>]?: FlagValue<P, K>;
  } & LaunchOptions
>;
/** A config whose values may be computed before a launch: host integers, and conditions for flags. */
export type ComputedConfig<P, Heuristic extends string = never> = {
  readonly [K in keyof Config<P, Heuristic>]: Config<P, Heuristic>[K] | Computed<Config<P, Heuristic>[K]>;
};
type Computed<V> = NonNullable<V> extends boolean ? Requirement : NonNullable<V> extends number ? HostInt : never;
type OnDevice = { readonly device: Device };

export interface Autotune<P, Derived extends string = never, Heuristic extends string = never> {
  /** Names of arguments and sizes. If one changes, the autotuner measures again. */
  readonly key: readonly Exclude<
    DimsOfParams<P> | Derived | ScalarNames<P> | FlagNames<P> | DTypeNames<P>,
    Heuristic
  >[];
  /**
   * The configs: values of constexprs and launch options. For separate lists per GPU, write `{ cuda: { 90: […] }, hip:
   * { gfx942: […] }, default: […] }`. The list of 90 applies to sm_90 and later.
   */
  readonly configs: readonly Config<P, Heuristic>[] | ConfigsByGpu<Config<P, Heuristic>>;
  /** Outputs that the kernel adds to. They are set to zero before each launch and each trial. */
  readonly resetToZero?: readonly ResetNames<P, "out" | "inout">[];
  /** Tensors that the caller fills and the kernel updates. The autotuner restores them after each trial. */
  readonly restoreValue?: readonly RestoreNames<P>[];
  /** Keeps the timings on disk, in Triton's cache. */
  readonly cacheResults?: boolean;
  /**
   * The search space of `tilescript tune`: lists of values for constexprs and launch options, which it combines.
   * Omitted options keep their values in the first config.
   */
  readonly space?: Space<Config<P, Heuristic>>;
}
/** Lists of configs by GPU. */
export interface ConfigsByGpu<C> {
  /**
   * NVIDIA GPUs, by the minimum compute capability: a list applies up to the capability of the next list.
   */
  readonly cuda?: { readonly [capability: number]: readonly C[] };
  /** AMD GPUs, by architecture: `gfx942`. */
  readonly hip?: { readonly [architecture: `gfx${string}`]: readonly C[] };
  /** All other GPUs, and Triton's interpreter. */
  readonly default: readonly C[];
}
/** Values to try, by the names of a config. */
export type Space<C> = { readonly [K in keyof C]?: readonly [Exclude<C[K], undefined>, ...Exclude<C[K], undefined>[]] };
/** The type of a constexpr's heuristic: it returns a truth value for a flag, an integer for a size. */
type HeuristicOf<P, K, Derived extends string> = K extends keyof P
  ? P[K] extends ConstexprParam<"bool">
    ? (meta: HostArgs<P, Derived>) => Requirement
    : P[K] extends ConstexprParam<"size" | "int">
      ? (meta: HostArgs<P, Derived>) => HostInt
      : (
          meta: HostArgs<P, Derived>,
        ) => Problem<`heuristics: ${K & string} is neither an integer nor a flag; declare it constexpr() or constexpr.bool()`>
  : (meta: HostArgs<P, Derived>) => Problem<`heuristics: ${K & string} is not a constexpr of params; declare it there`>;

/** The number of programs on one to three axes. */
export type Grid = readonly [HostInt] | readonly [HostInt, HostInt] | readonly [HostInt, HostInt, HostInt];
/** Sizes for verification and benchmarks. */
export type Sizes<P, Derived extends string, Heuristic extends string = never> = Flat<
  { readonly [K in FreeSizes<P, Derived>]: number } & { readonly [K in ScalarNames<P>]?: number } & {
    readonly [K in Exclude<FlagNames<P>, Heuristic>]?: FlagValue<P, K>;
  }
>;
/** Arguments of a reference: tensors, and sizes, scalars and constexprs as Python numbers. */
export type ReferenceInputs<P, Derived extends string> = Flat<{
  readonly [
    K in TensorNames<P, "in" | "inout"> | ScalarNames<P> | ConstNames<P> | DimsOfParams<P> | Derived
  ]: K extends TensorNames<P>
    ? P[K & keyof P] extends OptionalParam<any, any, any>
      ? OptionalTorchTensor
      : TorchTensor
    : K extends DTypeNames<P>
      ? TorchDType
      : TorchScalar;
}>;
/** A recorded PyTorch result, or the body of a Python function. */
export type ReferenceSpec<P, Derived extends string> =
  ((inputs: ReferenceInputs<P, Derived>, torch: Torch) => TorchResult) | { readonly source: string };
/** The values of a test case as plain numbers: sizes, scalars, flags and choices. */
export type Given<P, Derived extends string, Heuristic extends string = never> = Flat<{
  readonly [K in DimsOfParams<P> | Derived | ScalarNames<P> | Exclude<FlagNames<P>, Heuristic>]: K extends FlagNames<P>
    ? FlagValue<P, K>
    : number;
}>;
/** The arguments of `inputs`: all values that are known before a config is chosen. */
export type InputSizes<P, Derived extends string> = Flat<{
  readonly [K in ScalarNames<P> | Exclude<FlagNames<P>, SizeNames<P>> | DimsOfParams<P> | Derived]: TorchScalar;
}>;

/** Parts of a tolerance; see {@link Spec.tolerance}. */
export interface ToleranceSpec {
  readonly rtol?: number;
  readonly atol?: number;
  readonly rms?: number;
  readonly share?: number;
}

/** The spec of a kernel. `Derived` is inferred only from `dims`, `Heuristic` only from `heuristics`. */
export interface Spec<P, Derived extends string = never, Heuristic extends string = never> {
  /** A description of the kernel, which becomes the docstring of the emitted function. */
  readonly doc?: string;
  /** The kernel's params by name. */
  readonly params: CheckedParams<P>;
  /** Sizes computed from other sizes: `dims: { MT: ({ M, TOP_K }) => M.mul(TOP_K) }`. */
  readonly dims?: { readonly [K in Derived]: (meta: HostArgs<P>) => HostInt };
  /**
   * Computes the number of programs on each axis from sizes, constexprs and properties of the GPU: `({ M, BLOCK, device
   * }) => [tl.minimum(device.multiProcessorCount, tl.cdiv(M, BLOCK))]`.
   */
  readonly grid: (meta: HostArgs<P, NoInfer<Derived>> & OnDevice) => Grid;
  /** Several configs. At the first launch for each value of `key`, the autotuner measures all and keeps the fastest. */
  readonly autotune?: Autotune<P, NoInfer<Derived>, NoInfer<Heuristic>>;
  /**
   * The only config of a kernel without `autotune`. To compute it before each launch from sizes and properties of the
   * GPU, write a function: `({ N, device }) => ({ BLOCK: tl.nextPowerOf2(N), numWarps: tl.where(N.gt(2048), 8, 4) })`.
   */
  readonly config?:
    | Config<P, NoInfer<Heuristic>>
    | ((meta: HostArgs<P, NoInfer<Derived>> & OnDevice) => ComputedConfig<P, NoInfer<Heuristic>>);
  /** Constexprs computed from the arguments and the chosen config: `EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0)`. */
  readonly heuristics?: { readonly [K in Heuristic]: HeuristicOf<P, K, NoInfer<Derived>> };
  /**
   * Driver options for all configs. The string "fast" adds a launch cache for repeated calls, as `emit --launch fast`
   * does.
   */
  readonly launch?: "fast" | DriverOptions;
  /**
   * The oldest Triton version that the kernel supports. If a kernel uses a feature that needs 3.9, the build reports an
   * error for "3.6", nothing for "3.9", and a warning if you omit this field.
   */
  readonly triton?: "3.6" | "3.9";
  /**
   * The GPUs that the kernel supports, with the reason: `{ cuda: 90, reason: "waits for the kernel before it" }`. On
   * other GPUs, the wrapper raises an error; `compile`, `run` and `verify` skip and list them. The default is all GPUs.
   */
  readonly targets?: KernelTargets;
  /**
   * Adds a warp-specialized kernel for Hopper GPUs to the module, if the kernel matches a supported pattern. If it
   * matches none, "auto" emits only the plain kernel, and "always" is an error. With "auto", the wrapper of an
   * autotuned kernel times both kernels and launches the faster one. With "always", the wrapper launches the
   * warp-specialized kernel on every GPU that supports it. The default is "never".
   */
  readonly warpSpecialize?: "auto" | "never" | "always";
  /** Integer arguments. Triton compiles no separate kernels for their value 1 and for multiples of 16. */
  readonly doNotSpecialize?: readonly (DimsOfParams<P> | NoInfer<Derived> | ScalarNames<P>)[];
  /** Integers and tensors. Triton compiles no separate kernels for values and addresses that are multiples of 16. */
  readonly doNotSpecializeOnAlignment?: readonly (
    DimsOfParams<P> | NoInfer<Derived> | ScalarNames<P> | TensorNames<P>
  )[];
  /**
   * Groups of tensors with equal strides and the same dims, such as `[["q", "k", "v"]]`. The wrapper checks the
   * strides, and the kernel receives one set of strides per group.
   */
  readonly sameStrides?: readonly (readonly [TensorNames<P>, TensorNames<P>, ...TensorNames<P>[]])[];
  /** Conditions that the caller must satisfy. The wrapper checks them before each launch. */
  readonly requires?: (meta: HostArgs<P, NoInfer<Derived>> & OnDevice) => readonly Requirement[];
  /**
   * Computes test inputs that cannot be arbitrary numbers, with the same functions as a reference: `({ M, N }, torch)
   * => ({ index: torch.randperm(N) })`. Results are cast to their tensors' dtypes. All other inputs are random.
   */
  readonly inputs?: (
    sizes: InputSizes<P, NoInfer<Derived>>,
    torch: Torch,
  ) => { readonly [K in TensorNames<P, "in" | "inout">]?: TorchTensor };
  /**
   * Computes the expected result with PyTorch functions, which the build traces. For other functions, write Python
   * source.
   */
  readonly reference?: ReferenceSpec<P, NoInfer<Derived>>;
  /**
   * Other implementations that `bench` also measures, as functions or as Python source: `{ cublas: ({ a, b }, torch) =>
   * torch.matmul(a, b) }`. The emitted Python does not contain them.
   */
  readonly providers?: { readonly [name: string]: ReferenceSpec<P, NoInfer<Derived>> };
  /**
   * Sizes of output axes, such as the batch size, that must not affect results. The bits of an element must depend
   * neither on the size nor on other rows along the axis. `check` proves this or reports an error. Triton compiles one
   * kernel for all values of the size.
   */
  readonly invariant?: readonly FreeSizes<P, NoInfer<Derived>>[];
  /**
   * The number of floating-point operations of a call, for TFLOP/s: `({ M, N, K }) => 2 * M * N * K`. By default
   * PyTorch counts the operations of the reference's matrix products, convolutions and attention.
   */
  readonly flops?: (values: Given<P, NoInfer<Derived>, NoInfer<Heuristic>>) => number;
  /** Sizes for verification and benchmarks. Verification also uses random sizes. */
  readonly shapes?: readonly Sizes<P, NoInfer<Derived>, NoInfer<Heuristic>>[];
  /**
   * Overrides fields of the default tolerance; `{ q: { atol: 1 } }` does so only for the output `q`. An element may
   * differ by `atol + rtol * |expected|`, plus `rms` times the root mean square of the output. If you set `atol`, `rms`
   * defaults to 0. A tolerance also permits intermediate values of a narrower dtype. Integers must be equal. If `atol`
   * is at least 1, a fraction `share` (default 0.01) of them may differ by up to `atol`.
   */
  readonly tolerance?: ToleranceSpec & { readonly [K in TensorNames<P, "out" | "inout">]?: ToleranceSpec };
}
