/** The public API that Node and browsers share. It needs only JavaScript. */
export { compile, type CompileOptions } from "./pipeline/compile-kernel.js";
export type { Access, AccessKind, WantedAccesses } from "./compiled/access.js";
export type {
  TestCase,
  CompiledKernel,
  Config,
  EmitOptions,
  Emitted,
  Evaluation,
  Finding,
  Signature,
  Tolerance,
} from "./compiled/compiled-kernel.js";
export type { DiagnosticCode, FindingCode } from "./diagnostics/catalog/index.js";
export { TileScriptError, type Diagnostic, type Edit, type Location } from "./diagnostics/diagnostic.js";
export { NDArray, type DataOf, type Nested, type TypedArray, type TypedArrayOf } from "./host-call/ndarray.js";
export type * from "./host-call/types.js";
export { accessPicture } from "./visualize/access-picture.js";
export { programMap } from "./visualize/program-map.js";
export { op } from "./dsl/operator.js";
export { constexpr, descriptor, pointer, scalar, tensor } from "./dsl/params.js";
export { python } from "./dsl/record-spec.js";
export { tl } from "./dsl/tl-namespace.js";
export { libdevice } from "./ops/libdevice.js";

// Declaration files of authors must be able to name every type that can occur in an export.
export type { When } from "./dsl/branches.js";
export type { ConstBool, Constexpr, ConstFloat, ConstFn, ConstLike, ConstString } from "./types/constexpr.js";
export type { DType, DTypeName, Element, OneOf } from "./types/dtype.js";
export type {
  AddressLike,
  MutPointer,
  OptionalPointer,
  OptionalTensor,
  Pointer,
  Tensor,
  View,
  Descriptor,
  DescriptorLike,
} from "./rules/tensor-types.js";
export type * from "./rules/types-of.js";
export type { Args, HostArgs } from "./params/args.js";
export type * from "./params/kernel.js";
export type { DimsOfParams, FreeSizes, SizeNames, TensorNames } from "./params/param-names.js";
export type * from "./params/param-types.js";
export type * from "./params/operator-types.js";
export type { Problem } from "./types/rule-error.js";
export type { Dim, Shape } from "./types/shape.js";
export type * from "./params/spec.js";
export type { Mut, Scalar, Tile, TileLike } from "./types/tile.js";
export type { OptionalTorchTensor, Torch, TorchScalar, TorchTensor } from "./torch/types.js";
