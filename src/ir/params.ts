/** A kernel's signature as types: what params are declared, what the body receives, and what the spec may say. */
import type { Constexpr, ConstBool, ConstFloat, ConstFn, ConstString } from "./constexpr.js";
import type { DType, DTypeName, Dt, Element, Members, OneOf } from "./dtype.js";
import type { Descriptor } from "./descriptor.js";
import type { OptionalPointer, OptionalTensor, Pointer, Tensor } from "./memory.js";
import type { CallArguments, CallNames, CallResults } from "./params-call.js";
import type { Checked, IsUnion, Problem } from "./problem.js";
import type { Show } from "./shape.js";
import type { DescriptorOptions } from "./signatures-descriptor.js";
import type { Scalar } from "./tile.js";
import type { OptionalTorchTensor, Torch, TorchDType, TorchResult, TorchScalar, TorchTensor } from "./torch.js";
import type { Access } from "./types.js";

// ---- builders -------------------------------------------------------------------------------------------------------

declare const $param: unique symbol;
export type DimNames = readonly (string | number)[];
export interface TensorParam<E extends Element, Ds extends DimNames, A extends Access> {
  readonly [$param]: ["tensor", E, Ds, A];
  /** May be absent at the call; the body asks `given`. Inputs only: an output that the caller leaves out is allocated. */
  optional(
    this: Checked<
      TensorParam<E, Ds, A>,
      A extends "in"
        ? ""
        : "optional: only an input may be left out; an output is allocated where the caller gives none"
    >,
  ): OptionalParam<E, Ds, A>;
}
/** A tensor that the kernel gets as a descriptor, for blocks of shape B. */
export interface DescriptorParam<E extends Element, Ds extends DimNames, B extends DimNames, A extends Access> {
  readonly [$param]: ["descriptor", [E, B], Ds, A];
}
export interface OptionalParam<E extends Element, Ds extends DimNames, A extends Access> {
  readonly [$param]: ["optional", E, Ds, A];
}
export interface PointerParam<E extends Element> {
  readonly [$param]: ["pointer", E];
  /** May be absent at the call; the body asks `given`. */
  optional(): OptionalPointerParam<E>;
}
export interface OptionalPointerParam<E extends Element> {
  readonly [$param]: ["optionalPointer", E];
}
export interface ScalarParam<E extends Element> {
  readonly [$param]: ["scalar", E];
}
/** `K` says who decides it and of what kind it is. */
export interface ConstexprParam<K> {
  readonly [$param]: ["constexpr", K];
}
export interface Param {
  readonly [$param]: readonly unknown[];
}
export type Params = Readonly<Record<string, Param>>;

/** What is known of a tensor argument besides dtype and dims. */
export interface TensorOptions {
  /** The last axis has stride 1 and the tensor no gaps. */
  readonly contiguous?: boolean;
  /** Width of address arithmetic, where the caller knows better than the extent. */
  readonly offsets?: DType<"int32"> | DType<"int64">;
}
export interface OutTensorOptions extends TensorOptions {
  /** Holds zeros when the first program starts: for a kernel that adds to it. */
  readonly zeroed?: boolean;
}
export interface InTensorOptions extends TensorOptions {
  /**
   * What the caller sees to: the lowest value, and the highest (a size's name or a number), which integers stay below
   * and floats may be. Inputs are drawn from it, and a view masks no lower bound of an index that is not negative by it.
   */
  readonly range?: readonly [number | string, number | string];
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };
type Declare<A extends Access> = <D extends DType<any>, const Ds extends DimNames>(
  dtype: D,
  dims: Ds,
  options?: A extends "out" ? OutTensorOptions : InTensorOptions,
) => TensorParam<D[Dt], Mutable<Ds>, A>;
export interface TensorBuilder {
  readonly [$param]: Problem<'tensor: call it, tensor(tl.float16, ["M"])'>;
  /** A tensor that the kernel reads. A dim is a size's name, a constexpr's, a derived one's, or a number. */
  <D extends DType<any>, const Ds extends DimNames>(
    dtype: D,
    dims: Ds,
    options?: InTensorOptions,
  ): TensorParam<D[Dt], Mutable<Ds>, "in">;
  /** A tensor that the kernel fills; allocated unless the caller gives it. */
  readonly out: Declare<"out">;
  /** A tensor that the kernel updates in place. */
  readonly inout: Declare<"inout">;
}
type DeclareDescriptor<A extends Access> = <D extends DType<any>, const Ds extends DimNames, const B extends DimNames>(
  dtype: D,
  dims: Ds,
  block: Checked<
    B,
    B["length"] extends Ds["length"]
      ? ""
      : `descriptor: ${Show<Ds>} needs one block dimension an axis, ${B["length"]} given`
  >,
  options?: DescriptorOptions<D[Dt]>,
) => DescriptorParam<D[Dt], Mutable<Ds>, Mutable<B>, A>;
export interface DescriptorBuilder extends DeclareDescriptor<"in"> {
  readonly [$param]: Problem<'descriptor: call it, descriptor(tl.float16, ["M"], ["BLOCK_M"])'>;
  /** A tensor that the kernel fills; allocated unless the caller gives it. */
  readonly out: DeclareDescriptor<"out">;
  /** A tensor that the kernel updates in place. */
  readonly inout: DeclareDescriptor<"inout">;
}
/** A raw pointer: nothing is known of its extent. */
export type PointerBuilder = <D extends DType<any>>(dtype: D) => PointerParam<D[Dt]>;
/** A number that is passed at run time. */
export type ScalarBuilder = <D extends DType<any>>(
  dtype: D,
  options?: { readonly default?: number },
) => ScalarParam<D[Dt]>;

/** A kind of constexpr: `size` is decided by a config or a shape, the others by the caller (or a config). */
export interface ChoiceOf<in out C extends string> {
  readonly choice: C;
}
/** A function out of several, which are called alike. */
export interface FunctionOf<in out C extends string, F> extends ChoiceOf<C> {
  readonly functions: F;
}
type WhyAlike<F extends (...args: any[]) => unknown> =
  IsUnion<ReturnType<F>> extends true
    ? "constexpr.fn: the functions give different types; cast so that all give the same"
    : "";
/** A dtype out of a list, which the param gives a name. */
export interface DTypeChoice<M> {
  readonly dtypes: M;
}
type DTypeOf<N> = N extends DTypeName ? DType<N> : never;
type DTypeIn<C> = C extends readonly unknown[] ? C[number] : C extends DType<infer E> ? DTypeOf<Members<E>> : never;
type NamesIn<M> = { -readonly [K in keyof M]: M[K] extends DType<infer E> ? (E extends DTypeName ? E : never) : never };
/** Sizes and scalars, by name, for a constexpr that is computed at launch. Loose: a param does not know its kernel. */
export type LaunchSizes = Readonly<Record<string, any>>;
type HostInt = Scalar<"int32"> | Scalar<"int64"> | Constexpr<any> | number;
export interface ConstexprBuilder {
  readonly [$param]: Problem<"constexpr: call it, constexpr()">;
  /** A size: decided by `config` or `autotune`, or bound from a tensor's shape where it is a dim. */
  (): ConstexprParam<"size">;
  /** An integer argument. */
  int(options?: { readonly default?: number }): ConstexprParam<"int">;
  float(options?: { readonly default?: number }): ConstexprParam<"float">;
  bool(options?: { readonly default?: boolean }): ConstexprParam<"bool">;
  /** One of these strings. */
  string<const C extends readonly [string, ...string[]]>(
    choices: C,
    options?: { readonly default?: C[number] },
  ): ConstexprParam<ChoiceOf<C[number]>>;
  /**
   * One of these functions, chosen by its name, in a call or in a config: `ACTIVATION: constexpr.fn({ relu, gelu })`
   * makes `ACTIVATION(x)` a branch that Triton decides when it compiles. All take and give the same types.
   */
  fn<const C extends string, F extends (...args: any[]) => unknown>(
    functions: Checked<{ readonly [K in C]: F }, WhyAlike<F>>,
    options?: { readonly default?: NoInfer<C> },
  ): ConstexprParam<FunctionOf<C, F>>;
  /**
   * A dtype that the caller chooses, `constexpr.dtype([tl.float16, tl.float32])`: it stands wherever a dtype may,
   * `x.to(OUT)`. Given a dtype variable it binds that, so that an output may have it though no input does.
   */
  dtype<const C extends DType<any> | readonly [DType<any>, ...DType<any>[]]>(
    choices: C,
    options?: { readonly default?: DTypeIn<C> },
  ): ConstexprParam<C extends readonly unknown[] ? DTypeChoice<NamesIn<C>> : C>;
  /** Computed from the sizes at each launch: `constexpr.launch(({ N }) => tl.nextPowerOf2(N))`. */
  readonly launch: LaunchBuilder;
}
export interface LaunchBuilder {
  /** An integer. */
  (value: (sizes: LaunchSizes) => HostInt): ConstexprParam<"launch">;
  /** A truth value: `constexpr.launch.bool(({ N }) => N.mod(16).eq(0))`. */
  bool(value: (sizes: LaunchSizes) => Requirement): ConstexprParam<"launch bool">;
}

// ---- what the body receives -----------------------------------------------------------------------------------------

type ArgOf<D, K> = D extends ["tensor", infer E extends Element, infer Ds extends DimNames, infer A extends Access]
  ? Tensor<E, Ds, A>
  : D extends ["optional", infer E extends Element, infer Ds extends DimNames, infer A extends Access]
    ? OptionalTensor<E, Ds, A>
    : D extends ["descriptor", [infer E extends Element, infer B extends DimNames], any, infer A extends Access]
      ? Descriptor<E, B, A>
      : D extends ["pointer", infer E extends Element]
        ? Pointer<E, []>
        : D extends ["optionalPointer", infer E extends Element]
          ? OptionalPointer<E>
          : D extends ["scalar", infer E extends Element]
            ? Scalar<E>
            : D extends ["constexpr", infer C]
              ? ConstOf<C, K & string>
              : never;
type ConstOf<C, Name extends string> = C extends "size" | "int" | "launch"
  ? Constexpr<Name>
  : C extends "bool" | "launch bool"
    ? ConstBool<Name>
    : C extends "float"
      ? ConstFloat<Name>
      : C extends FunctionOf<infer S, infer F>
        ? ConstFn<Name, S, F>
        : C extends ChoiceOf<infer S>
          ? ConstString<Name, S>
          : C extends DTypeChoice<infer M extends readonly DTypeName[]>
            ? DType<OneOf<Name, M>>
            : C extends DType<any>
              ? C
              : never;

/** Named dims of all tensors: sizes, dims that are constexprs, and derived dims. */
export type DimsOfParams<P> = {
  [K in keyof P]: P[K] extends {
    readonly [$param]: ["tensor" | "optional" | "descriptor", any, infer Ds extends DimNames, any];
  }
    ? Extract<Ds[number], string>
    : never;
}[keyof P];
/** Params by name; sizes as scalars of int32. */
export type Args<P, Derived extends string = never> = {
  [K in keyof P | DimsOfParams<P> | Derived]: K extends keyof P
    ? P[K] extends { readonly [$param]: infer D }
      ? ArgOf<D, K>
      : never
    : Scalar<"int32">;
};

export type NamesWhere<P, Tag> = { [K in keyof P]: P[K] extends { readonly [$param]: Tag } ? K : never }[keyof P] &
  string;
export type ScalarNames<P> = NamesWhere<P, ["scalar", any]>;
type ConstNames<P> = NamesWhere<P, ["constexpr", any]>;
export type TensorNames<P, A = any> = NamesWhere<P, ["tensor" | "optional" | "descriptor", any, any, A]>;
/** Tensors that the autotuner can put back: it knows no descriptors. */
type ResetNames<P, A> = NamesWhere<P, ["tensor", any, any, A]>;
/** Constexprs that each config must set: sizes that no tensor's shape gives. */
export type SizeNames<P> = Exclude<NamesWhere<P, ["constexpr", "size"]>, DimsOfParams<P>>;
/** Constexprs that a caller gives, or a config: flags and choices. */
export type FlagNames<P> = Exclude<
  ConstNames<P>,
  { [K in keyof P]: P[K] extends ConstexprParam<NotAFlag> ? K : never }[keyof P] & string
>;
type NotAFlag = "size" | "launch" | "launch bool" | DTypeChoice<any> | DType<any>;
export type DTypeNames<P> = {
  [K in keyof P]: P[K] extends ConstexprParam<DTypeChoice<any> | DType<any>> ? K : never;
}[keyof P] &
  string;
/** Sizes that the shapes of the arguments give. */
export type FreeSizes<P, Derived extends string> = Exclude<DimsOfParams<P>, Derived>;

/** What callbacks on the host may look at: sizes, scalars and constexprs. */
export type Meta<P, Derived extends string = never> = {
  [K in ScalarNames<P> | ConstNames<P> | DimsOfParams<P> | Derived]: K extends keyof P
    ? P[K] extends { readonly [$param]: infer D }
      ? ArgOf<D, K>
      : never
    : Scalar<"int32">;
};

// ---- the spec -------------------------------------------------------------------------------------------------------

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
/** One object type, not an intersection, so that a missing name is reported by name. */
export type Flat<T> = { [K in keyof T]: T[K] };
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
/** A condition that the host can ask before a launch. */
export type Requirement = ConstBool<any> | Scalar<"int1">;
/** Sizes to verify and measure with. */
export type Sizes<P, Derived extends string, Heuristic extends string = never> = Flat<
  { readonly [K in FreeSizes<P, Derived>]: number } & { readonly [K in ScalarNames<P>]?: number } & {
    readonly [K in Exclude<FlagNames<P>, Heuristic>]?: FlagValue<P, K>;
  }
>;
/** Inputs of a reference: tensors, and sizes, scalars and constexprs as numbers of Python. */
export type ReferenceInputs<P, Derived extends string> = {
  readonly [
    K in TensorNames<P, "in" | "inout"> | ScalarNames<P> | NamesWhere<P, ["constexpr", any]> | DimsOfParams<P> | Derived
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

/** A kernel, as `kernel(name, spec, body)` returns it. */
export interface Kernel<out Name extends string, in out P> {
  readonly name: Name;
  readonly params: P;
  /** Calls it inside `op(…)`: outputs are new tensors, and tensors that it updates change. */
  call<const G extends CallNames<P>>(given: CallArguments<Name, P, G>): CallResults<P>;
}
/** The signature of `kernel`. To `void` alone the checker would let any function pass: hence the sentence. */
export type KernelFunction = <
  const Name extends string,
  const P extends Params,
  const Derived extends string = never,
  const Heuristic extends string = never,
>(
  name: Name,
  spec: Spec<P, Derived, Heuristic>,
  body: (args: Args<P, NoInfer<Derived>>) => void | "kernel: a body returns nothing; tl.store its results",
) => Kernel<Name, P>;
