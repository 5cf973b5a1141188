/** The arguments of a kernel's body and of its host callbacks. */
import type { DeviceProperties } from "../compiled/gpus.js";
import type { Constexpr, ConstBool, ConstFloat, ConstFn, ConstString } from "../types/constexpr.js";
import type { DType, DTypeName, Element, OneOf } from "../types/dtype.js";
import type { OptionalPointer, OptionalTensor, Pointer, Tensor, Descriptor } from "../rules/tensor-types.js";
import type { ConstNames, DimsOfParams, ScalarNames } from "./param-names.js";
import type { $param, ChoiceOf, DimNames, DTypeChoice, FunctionOf } from "./param-types.js";
import type { Flat } from "../types/rule-error.js";
import type { Scalar } from "../types/tile.js";
import type { Access } from "../types/types.js";

type ArgOf<D, K> = D extends ["tensor", infer E extends Element, infer Ds extends DimNames, infer A extends Access]
  ? Tensor<E, Ds, A>
  : D extends ["optional", infer E extends Element, infer Ds extends DimNames, infer A extends Access]
    ? OptionalTensor<E, Ds, A, K & string>
    : D extends ["descriptor", [infer E extends Element, infer B extends DimNames], any, infer A extends Access]
      ? Descriptor<E, B, A>
      : D extends ["pointer", infer E extends Element]
        ? Pointer<E, []>
        : D extends ["optionalPointer", infer E extends Element]
          ? OptionalPointer<E, K & string>
          : D extends ["scalar", infer E extends Element]
            ? Scalar<E>
            : D extends ["constexpr", infer C]
              ? ConstOf<C, K & string>
              : any;
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
              : any;

/** The arguments of a kernel's body: params by name, and sizes as int32 scalars. */
export type Args<P, Derived extends string = never> = Flat<{
  [K in keyof P | DimsOfParams<P> | Derived]: K extends keyof P
    ? P[K] extends { readonly [$param]: infer D }
      ? ArgOf<D, K>
      : any
    : Scalar<"int32">;
}>;

/** Properties of the tensors' GPU, for callbacks that run before a launch. */
export type Device = { readonly [K in keyof DeviceProperties]: Scalar<"int32"> };

/** The arguments of host callbacks: sizes, scalars and constexprs. */
export type HostArgs<P, Derived extends string = never> = Flat<{
  [K in ScalarNames<P> | ConstNames<P> | DimsOfParams<P> | Derived]: K extends keyof P
    ? P[K] extends { readonly [$param]: infer D }
      ? ArgOf<D, K>
      : any
    : Scalar<"int32">;
}>;
