/** What an author says of a kernel besides its body. */
import type { Meta } from "./args.js";
import type {
  ConstNames,
  DimsOfParams,
  DTypeNames,
  FlagNames,
  FreeSizes,
  ResetNames,
  ScalarNames,
  SizeNames,
  TensorNames,
} from "./param-names.js";
import type { ChoiceOf, ConstexprParam, HostInt, OptionalParam, Requirement } from "./param-types.js";
import type { Flat, Problem } from "../types/problem.js";
import type {
  OptionalTorchTensor,
  Torch,
  TorchDType,
  TorchResult,
  TorchScalar,
  TorchTensor,
} from "../torch/torch-types.js";

export interface LaunchOptions {
  readonly numWarps?: 1 | 2 | 4 | 8 | 16 | 32;
  readonly numStages?: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
  readonly numCtas?: 1 | 2 | 4 | 8 | 16;
  readonly maxnreg?: number;
}
/** What every launch says to the driver, whichever config runs. */
export interface DriverOptions {
  /** Programmatic dependent launch: the kernel may start before the one in front of it has ended (CUDA, sm_90 and on). */
  readonly launchPdl?: boolean;
  /** All programs run at once, so that they may wait for each other. */
  readonly launchCooperativeGrid?: boolean;
  /**
   * Whether a product and a sum may become one instruction that rounds once. Triton 3.6 and 3.9 do so by default, and 3.9
   * warns that 3.10 will not: say which is meant to silence it and to keep one meaning.
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
/** One choice of constexprs and launch options: every size, any flag, none that a heuristic computes. */
export type Config<P, Heuristic extends string = never> = Flat<
  { readonly [K in Exclude<SizeNames<P>, Heuristic>]: number } & {
    readonly [K in Exclude<FlagNames<P>, Heuristic>]?: FlagValue<P, K>;
  } & LaunchOptions
>;
export interface Autotune<P, Derived extends string = never, Heuristic extends string = never> {
  /** A change of one of these tunes anew. */
  readonly key: readonly Exclude<
    DimsOfParams<P> | Derived | ScalarNames<P> | FlagNames<P> | DTypeNames<P>,
    Heuristic
  >[];
  readonly configs: readonly Config<P, Heuristic>[];
  /** Tensors that the kernel adds to: cleared before each trial. */
  readonly resetToZero?: readonly ResetNames<P, "out" | "inout">[];
  /** Tensors that the kernel updates: put back after each trial. */
  readonly restoreValue?: readonly ResetNames<P, "inout">[];
  /** Keeps the timings on disk, in Triton's cache. */
  readonly cacheResults?: boolean;
  /**
   * Where `tilescript tune` looks for better configs: values of constexprs and launch options, every combination. What
   * it leaves out is as in the first config.
   */
  readonly space?: Space<Config<P, Heuristic>>;
}
/** Values to try, by the names of a config. */
export type Space<C> = { readonly [K in keyof C]?: readonly [Exclude<C[K], undefined>, ...Exclude<C[K], undefined>[]] };
/** What a heuristic of a constexpr gives: a truth value for a flag, an integer for a size. */
type HeuristicOf<P, K, Derived extends string> = K extends keyof P
  ? P[K] extends ConstexprParam<"bool">
    ? (meta: Meta<P, Derived>) => Requirement
    : P[K] extends ConstexprParam<"size" | "int">
      ? (meta: Meta<P, Derived>) => HostInt
      : (
          meta: Meta<P, Derived>,
        ) => Problem<`heuristics: ${K & string} is no integer and no flag; declare it constexpr() or constexpr.bool()`>
  : (meta: Meta<P, Derived>) => Problem<`heuristics: ${K & string} is no constexpr of params; declare it there`>;

/** One to three numbers of programs. */
export type Grid = readonly [HostInt] | readonly [HostInt, HostInt] | readonly [HostInt, HostInt, HostInt];
/** Sizes to verify and measure with. */
export type Sizes<P, Derived extends string, Heuristic extends string = never> = Flat<
  { readonly [K in FreeSizes<P, Derived>]: number } & { readonly [K in ScalarNames<P>]?: number } & {
    readonly [K in Exclude<FlagNames<P>, Heuristic>]?: FlagValue<P, K>;
  }
>;
/** Inputs of a reference: tensors, and sizes, scalars and constexprs as numbers of Python. */
export type ReferenceInputs<P, Derived extends string> = {
  readonly [
    K in TensorNames<P, "in" | "inout"> | ScalarNames<P> | ConstNames<P> | DimsOfParams<P> | Derived
  ]: K extends TensorNames<P>
    ? P[K & keyof P] extends OptionalParam<any, any, any>
      ? OptionalTorchTensor
      : TorchTensor
    : K extends DTypeNames<P>
      ? TorchDType
      : TorchScalar;
};
/** A result in torch, recorded; or the body of a Python function. */
export type ReferenceSpec<P, Derived extends string> =
  ((inputs: ReferenceInputs<P, Derived>, torch: Torch) => TorchResult) | { readonly source: string };
/** What a case gives, as plain numbers: sizes, scalars, flags and choices. */
export type Given<P, Derived extends string, Heuristic extends string = never> = {
  readonly [K in DimsOfParams<P> | Derived | ScalarNames<P> | Exclude<FlagNames<P>, Heuristic>]: K extends FlagNames<P>
    ? FlagValue<P, K>
    : number;
};
/** What inputs may look at: all that is known before a config is chosen. */
export type InputSizes<P, Derived extends string> = {
  readonly [K in ScalarNames<P> | Exclude<FlagNames<P>, SizeNames<P>> | DimsOfParams<P> | Derived]: TorchScalar;
};

/** Everything about a kernel but its body. `Derived` is inferred from `dims` alone, `Heuristic` from `heuristics`. */
export interface Spec<P, Derived extends string = never, Heuristic extends string = never> {
  /** What the kernel does: the docstring of what is emitted. */
  readonly doc?: string;
  readonly params: P;
  /** Sizes that follow from others: `dims: { MT: ({ M, TOP_K }) => M.mul(TOP_K) }`. */
  readonly dims?: { readonly [K in Derived]: (meta: Meta<P>) => HostInt };
  /** How many programs run. */
  readonly grid: (meta: Meta<P, NoInfer<Derived>>) => Grid;
  readonly autotune?: Autotune<P, NoInfer<Derived>, NoInfer<Heuristic>>;
  /** The one config of a kernel that is not tuned. */
  readonly config?: Config<P, NoInfer<Heuristic>>;
  /** Constexprs that follow from the arguments and from the config that runs: `EVEN: ({ N, BLOCK }) => N.mod(BLOCK).eq(0)`. */
  readonly heuristics?: { readonly [K in Heuristic]: HeuristicOf<P, K, NoInfer<Derived>> };
  readonly launch?: DriverOptions;
  /**
   * The oldest Triton that the kernel is for. What needs 3.9 is a warning where this is left out, an error under "3.6",
   * and taken as meant under "3.9".
   */
  readonly triton?: "3.6" | "3.9";
  /** Integer arguments for which Triton compiles one kernel, whether they are 1, multiples of 16 or neither. */
  readonly doNotSpecialize?: readonly (DimsOfParams<P> | NoInfer<Derived> | ScalarNames<P>)[];
  /** The same for being a multiple of 16 only; also tensors, whose addresses may then lie anywhere. */
  readonly doNotSpecializeOnAlignment?: readonly (
    DimsOfParams<P> | NoInfer<Derived> | ScalarNames<P> | TensorNames<P>
  )[];
  /** What the caller must see to; checked before each launch, and a fact to the proofs. */
  readonly requires?: (meta: Meta<P, NoInfer<Derived>>) => readonly Requirement[];
  /**
   * Inputs that random numbers of any value would not do for, in torch, recorded: `({ M, N }, torch) => ({ index:
   * torch.randperm(N) })`. Each is cast to its dtype; tensors that are not named are drawn as ever.
   */
  readonly inputs?: (
    sizes: InputSizes<P, NoInfer<Derived>>,
    torch: Torch,
  ) => { readonly [K in TensorNames<P, "in" | "inout">]?: TorchTensor };
  /** The result in torch, recorded; or Python source, for what the recorder has no words for. */
  readonly reference?: ReferenceSpec<P, NoInfer<Derived>>;
  /**
   * Other ways to the same result, to measure beside the kernel: `{ cublas: ({ a, b }, torch) => torch.matmul(a, b) }`,
   * or Python source. They are no part of what is emitted.
   */
  readonly providers?: { readonly [name: string]: ReferenceSpec<P, NoInfer<Derived>> };
  /**
   * Floating-point operations of a call, for TFLOP/s: `({ M, N, K }) => 2 * M * N * K`. Where it is left out, PyTorch
   * counts those of the reference's matrix products, convolutions and attention.
   */
  readonly flops?: (given: Given<P, NoInfer<Derived>, NoInfer<Heuristic>>) => number;
  /** Sizes to verify and measure with, beside those that are drawn. */
  readonly shapes?: readonly Sizes<P, NoInfer<Derived>, NoInfer<Heuristic>>[];
  /** Instead of the tolerance that the output's dtype has. */
  readonly tolerance?: { readonly rtol?: number; readonly atol?: number };
}
