/** The types of declared params. Each contains a tuple that starts with its kind, which other types match. */
import type { VALUE_IN_CONFIG } from "../diagnostics/catalog/param-codes.js";
import type { ConstBool, Constexpr } from "../types/constexpr.js";
import type { NoDim, WhyDims } from "../types/dim-names.js";
import type { DType, DTypeName, Dt, Element, Members } from "../types/dtype.js";
import type { Validate, IsUnion, Problem } from "../types/rule-error.js";
import type { Show } from "../types/shape.js";
import type { DescriptorOptions } from "../rules/descriptor-rules.js";
import type { Scalar } from "../types/tile.js";
import type { Access } from "../types/types.js";

/** The key of the tuple. It exists only in types. */
export declare const $param: unique symbol;
export type DimNames = readonly (string | number)[];
export interface TensorParam<E extends Element, Ds extends DimNames, A extends Access> {
  readonly [$param]: ["tensor", E, Ds, A];
  /**
   * The caller may omit the tensor: `given` is true if the caller passed it. An optional output is computed only if the
   * caller passes `True` or a tensor to write to; otherwise it is `None`. If only optional inputs have a size, the
   * first one passed sets it; without one, it is 0.
   */
  optional(): OptionalParam<E, Ds, A>;
}
/** A tensor that the kernel receives as a descriptor, for blocks of shape `B`. */
export interface DescriptorParam<E extends Element, Ds extends DimNames, B extends DimNames, A extends Access> {
  readonly [$param]: ["descriptor", [E, B], Ds, A];
}
export interface OptionalParam<E extends Element, Ds extends DimNames, A extends Access> {
  readonly [$param]: ["optional", E, Ds, A];
}
export interface PointerParam<E extends Element> {
  readonly [$param]: ["pointer", E];
  /** Lets the caller omit the pointer; the body tests `given`. */
  optional(): OptionalPointerParam<E>;
}
export interface OptionalPointerParam<E extends Element> {
  readonly [$param]: ["optionalPointer", E];
}
export interface ScalarParam<E extends Element> {
  readonly [$param]: ["scalar", E];
}
/**
 * A constexpr of kind `K`. A config or a shape determines a `"size"`, a launch those of kind `"launch"`; the caller or
 * a config chooses the others.
 */
export interface ConstexprParam<K> {
  readonly [$param]: ["constexpr", K];
}
export interface Param {
  readonly [$param]: readonly unknown[];
}
/** Params by name. Values are `unknown`, so that an invalid param does not affect the types of the others. */
export type Params = Readonly<Record<string, unknown>>;

/** Properties of a tensor argument in addition to dtype and dims. */
export interface TensorOptions {
  /** Requires that the last axis has stride 1 and that the tensor has no gaps. */
  readonly contiguous?: boolean;
  /**
   * The dtype of address arithmetic. With int32, the default, the wrapper rejects tensors that are too large for it.
   */
  readonly offsets?: DType<"int32"> | DType<"int64">;
}
export interface OutTensorOptions extends TensorOptions {
  /** Sets the tensor to zero before the first program runs, for a kernel that adds to it. */
  readonly zeroed?: boolean;
}
export interface PointerOptions extends Pick<OutTensorOptions, "zeroed"> {
  readonly numel?: number | string;
}
/**
 * The minimum and the end of a range. Integers are less than the end; floats may equal it. Both are numbers, names of
 * sizes, or the result of a function, `({ PAGES, SIZE }) => [0, PAGES.mul(SIZE)]`.
 */
export type Range = readonly [number | string, number | string] | ((sizes: LaunchSizes) => readonly [HostInt, HostInt]);
export interface InTensorOptions extends TensorOptions {
  /**
   * The range of the elements, as the caller promises: the minimum and the end, `[0, "N"]`. Integers are less than the
   * end; floats may equal it. Generated inputs are in it. The evaluator rejects other inputs; a GPU does not check
   * them. If the minimum is at least 0, a view does not mask the lower bound of an index loaded from this tensor.
   */
  readonly range?: Range;
  /**
   * The caller promises that this tensor `x` contains row offsets, which rise from 0 to the named size. Row `i` is the
   * range from `x[i]` to `x[i + 1]`. With `{ ends: "TOTAL" }` the tensor lacks the leading 0, and row `i` ends at
   * `x[i]`.
   */
  readonly partition?: string | { readonly ends: string } | undefined;
}
type Mutable<T> = { -readonly [K in keyof T]: T[K] };
/** The dims of a tensor. An invalid dim becomes an unnamed size, so that it causes no further errors. */
type DimsOf<Ds> = Ds extends DimNames ? { -readonly [K in keyof Ds]: Ds[K] extends NoDim ? number : Ds[K] } : DimNames;
type Declare<A extends Access> = <D extends DType<any>, const Ds extends DimNames | string>(
  dtype: D,
  dims: Validate<Ds, WhyDims<"tensor", Ds>>,
  options?: A extends "out" ? OutTensorOptions : InTensorOptions,
) => TensorParam<D[Dt], DimsOf<Ds>, A>;
export interface TensorBuilder {
  readonly [$param]: Problem<'tensor: call it, tensor(tl.float16, ["M"])'>;
  /** A tensor that the kernel reads. Each dim is a number or the name of a size, a constexpr or a derived size. */
  <D extends DType<any>, const Ds extends DimNames | string>(
    dtype: D,
    dims: Validate<Ds, WhyDims<"tensor", Ds>>,
    options?: InTensorOptions,
  ): TensorParam<D[Dt], DimsOf<Ds>, "in">;
  /** An output tensor. The wrapper allocates it unless the caller passes one. */
  readonly out: Declare<"out">;
  /** A tensor that the kernel updates in place. */
  readonly inout: Declare<"inout">;
}
type DeclareDescriptor<A extends Access> = <D extends DType<any>, const Ds extends DimNames, const B extends DimNames>(
  dtype: D,
  dims: Ds,
  block: Validate<
    B,
    B["length"] extends Ds["length"]
      ? ""
      : `descriptor: ${Show<Ds>} needs one block dimension per axis, got ${B["length"]}`
  >,
  options?: DescriptorOptions<D[Dt]>,
) => DescriptorParam<D[Dt], Mutable<Ds>, Mutable<B>, A>;
/**
 * A tensor that the kernel reads through a descriptor (TMA on sm_90 and later). The last argument is the shape of a
 * block. Callers pass a tensor. To write, use `descriptor.out` or `descriptor.inout`.
 */
export interface DescriptorBuilder extends DeclareDescriptor<"in"> {
  readonly [$param]: Problem<'descriptor: call it, descriptor(tl.float16, ["M"], ["BLOCK_M"])'>;
  /** An output tensor. The wrapper allocates it unless the caller passes one. */
  readonly out: DeclareDescriptor<"out">;
  /** A tensor that the kernel updates in place. */
  readonly inout: DeclareDescriptor<"inout">;
}
/**
 * A raw pointer to the memory of a tensor. `numel`, a number or the name of a size, declares its minimum number of
 * elements, which the wrapper checks. Without `numel`, the number is unknown. `zeroed: true` sets all of the tensor to
 * zero before the first program runs. Memory that the kernel writes through a pointer must not overlap a tensor. Two
 * pointers may overlap unless both declare `numel`.
 */
export type PointerBuilder = <D extends DType<any>>(dtype: D, options?: PointerOptions) => PointerParam<D[Dt]>;
/** A number that is passed at run time. The wrapper checks that it fits the dtype and the declared `range`. */
export type ScalarBuilder = <D extends DType<any>>(
  dtype: D,
  options?: { readonly default?: number; readonly range?: Range },
) => ScalarParam<D[Dt]>;

/** The kind of a constexpr with named choices. */
export interface ChoiceOf<in out C extends string> {
  readonly choice: C;
}
/** A choice among functions with the same parameter and result types. */
export interface FunctionOf<in out C extends string, F> extends ChoiceOf<C> {
  readonly functions: F;
}
type WhyAlike<F extends (...args: any[]) => unknown> =
  IsUnion<ReturnType<F>> extends true
    ? "constexpr.fn: the functions give different types; cast so that all give the same"
    : "";
/** A choice among dtypes, named by the param. */
export interface DTypeChoice<M> {
  readonly dtypes: M;
}
type DTypeOf<N> = N extends DTypeName ? DType<N> : never;
type DTypeIn<C> = C extends readonly unknown[] ? C[number] : C extends DType<infer E> ? DTypeOf<Members<E>> : never;
type NamesIn<M> = { -readonly [K in keyof M]: M[K] extends DType<infer E> ? (E extends DTypeName ? E : never) : never };
/** Sizes and scalars by name, for a constexpr computed at launch. Untyped, because a param does not know its kernel. */
export type LaunchSizes = Readonly<Record<string, any>>;
/** An integer that the host can compute before a launch. */
export type HostInt = Scalar<"int32"> | Scalar<"int64"> | Constexpr<any> | number;
/** A condition that the host can test before a launch. */
export type Requirement = ConstBool<any> | Scalar<"int1">;
export interface ConstexprBuilder {
  readonly [$param]: Problem<"constexpr: call it, constexpr()">;
  /** A compile-time size. If it is a dim, a tensor's shape sets it; otherwise `config` or `autotune` does. */
  (value?: `constexpr: takes nothing; ${typeof VALUE_IN_CONFIG}`): ConstexprParam<"size">;
  /**
   * A compile-time integer argument, which is less than the end of its `range`. The wrapper checks arguments; the build
   * checks configs.
   */
  int(options?: { readonly default?: number; readonly range?: Range }): ConstexprParam<"int">;
  /** A compile-time float argument. */
  float(options?: { readonly default?: number }): ConstexprParam<"float">;
  /** A flag. Triton compiles one kernel for each value and drops the branches that are not taken. */
  bool(options?: { readonly default?: boolean }): ConstexprParam<"bool">;
  /** One of the listed strings. */
  string<const C extends readonly [string, ...string[]]>(
    choices: C,
    options?: { readonly default?: C[number] },
  ): ConstexprParam<ChoiceOf<C[number]>>;
  /**
   * One of the listed functions; a call or a config selects it by name. With `ACTIVATION: constexpr.fn({ relu, gelu
   * })`, `ACTIVATION(x)` is a branch that Triton resolves at compile time. All functions must have the same parameter
   * and result types.
   */
  fn<const C extends string, F extends (...args: any[]) => unknown>(
    functions: Validate<{ readonly [K in C]: F }, WhyAlike<F>>,
    options?: { readonly default?: NoInfer<C> },
  ): ConstexprParam<FunctionOf<C, F>>;
  /**
   * A dtype that the caller chooses, `constexpr.dtype([tl.float16, tl.float32])`. Use it like any dtype: `x.to(OUT)`.
   * If the argument is a dtype variable, the choice sets the variable. An output can then have a dtype that no input
   * has.
   */
  dtype<const C extends DType<any> | readonly [DType<any>, ...DType<any>[]]>(
    choices: C,
    options?: { readonly default?: DTypeIn<C> },
  ): ConstexprParam<C extends readonly unknown[] ? DTypeChoice<NamesIn<C>> : C>;
  /** A constexpr computed from the sizes at each launch: `constexpr.launch(({ N }) => tl.nextPowerOf2(N))`. */
  readonly launch: LaunchBuilder;
}
export interface LaunchBuilder {
  /** An integer. */
  (value: (sizes: LaunchSizes) => HostInt): ConstexprParam<"launch">;
  /** A flag computed from the sizes at each launch: `constexpr.launch.bool(({ N }) => N.mod(16).eq(0))`. */
  bool(value: (sizes: LaunchSizes) => Requirement): ConstexprParam<"launch bool">;
}
