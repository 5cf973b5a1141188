/** TileScript: Triton kernels in TypeScript. */
import { buildWith } from "./build.js";
import { definitionOf, KernelDefinition } from "./dsl/kernel.js";
import type { Kernel } from "./ir/params.js";
import { addBuilder } from "./runtime/builders.js";
import type { Runnable } from "./runtime/commands/command.js";
import { type FileMeta, main as runMain } from "./runtime/main.js";

export { build } from "./build.js";
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
export { kernel } from "./kernel.js";
export { NDArray, type DataOf, type Nested, type TypedArray, type TypedArrayOf } from "./call/ndarray.js";
export type * from "./call/types.js";
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
export type * from "./ir/params.js";
export type { Problem } from "./ir/problem.js";
export type { Dim, Shape } from "./ir/shape.js";
export type { Mut, Scalar, Tile, TileLike } from "./ir/tile.js";
export type { Torch, TorchTensor } from "./ir/torch.js";

/**
 * Makes a kernel file a program: `tsx gemm.ts --run`, `--check`, `--emit`, `--compile`, `--help`. Does nothing when the
 * file is imported.
 *
 * @param meta the file's `import.meta`, or `module` in a CommonJS file
 */
export function main(meta: FileMeta, ...kernels: readonly Kernel<string, any>[]): void {
  runMain(meta, ...kernels.map(runnable));
}

function runnable(kernel: unknown): Runnable {
  return { name: definitionOf(kernel).name, compile: (configs) => buildWith(kernel, configs) };
}

addBuilder((value) => (value instanceof KernelDefinition ? runnable(value) : undefined));
