/** What authors write kernels with, and what needs nothing but JavaScript: the surface in Node and in a page. */
export { compile, type CompileOptions } from "./compile.js";
export type {
  Case,
  CompiledKernel,
  Config,
  EmitOptions,
  Emitted,
  Evaluation,
  Finding,
  Signature,
  Tolerance,
} from "./compiled.js";
export { TileScriptError, type Diagnostic, type Location } from "./diagnostics.js";
export { NDArray, type DataOf, type Nested, type TypedArray, type TypedArrayOf } from "./call/ndarray.js";
export type * from "./call/types.js";
export { op } from "./dsl/operator.js";
export { constexpr, descriptor, pointer, scalar, tensor } from "./dsl/params.js";
export { python } from "./dsl/reference.js";
export * as tl from "./dsl/tl.js";
export { libdevice } from "./ops/libdevice.js";

// Every type that can occur in what an author exports must have a name here, for declaration files.
export type { When } from "./dsl/branches.js";
export type { ConstBool, Constexpr, ConstFloat, ConstFn, ConstLike, ConstString } from "./ir/constexpr.js";
export type { Descriptor, DescriptorLike } from "./ir/descriptor.js";
export type { DType, DTypeName, Element, OneOf } from "./ir/dtype.js";
export type { AddressLike, MutPointer, OptionalPointer, OptionalTensor, Pointer, Tensor, View } from "./ir/memory.js";
export type { Args, Meta } from "./ir/args.js";
export type * from "./ir/kernel.js";
export type { DimsOfParams, FreeSizes, SizeNames, TensorNames } from "./ir/param-names.js";
export type * from "./ir/params.js";
export type * from "./ir/params-operator.js";
export type { Problem } from "./ir/problem.js";
export type { Dim, Shape } from "./ir/shape.js";
export type * from "./ir/spec.js";
export type { Mut, Scalar, Tile, TileLike } from "./ir/tile.js";
export type { OptionalTorchTensor, Torch, TorchScalar, TorchTensor } from "./ir/torch.js";
