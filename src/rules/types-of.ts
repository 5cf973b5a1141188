/**
 * Types for parameters of helper functions, by the type of a dtype value: `TileOf<typeof T, ["BLOCK"]>` with
 * `const T = tl.dtype("T", […])`.
 */
import type { DType, Dt } from "../types/dtype.js";
import type { Mut, Tile } from "../types/tile.js";
import type { Pointer, Tensor, View, Descriptor } from "./tensor-types.js";
import type { Access } from "../types/types.js";
import type { Shape } from "../types/shape.js";

/**
 * Values of a dtype in a shape, whose dimensions are numbers and names of constexprs: `TileOf<typeof T, ["BLOCK",
 * 16]>`.
 */
export type TileOf<D extends DType<any>, S extends Shape> = Tile<D[Dt], S>;
/** One value of a dtype. */
export type ScalarOf<D extends DType<any>> = Tile<D[Dt], []>;
/** State that holds tiles of a dtype: what `tl.mut` returns for a `TileOf<D, S>`. */
export type MutOf<D extends DType<any>, S extends Shape> = Mut<D[Dt], S>;
/** A tensor parameter of a kernel: `TensorOf<typeof T, ["M", "K"]>` for `tensor(T, ["M", "K"])`. */
export type TensorOf<D extends DType<any>, Dims extends Shape, A extends Access = "in"> = Tensor<D[Dt], Dims, A>;
/** The result of a tensor's `at` and `gather`. */
export type ViewOf<D extends DType<any>, S extends Shape, A extends Access = "in"> = View<D[Dt], S, A>;
/** A raw pointer, or a tile of them. */
export type PointerOf<D extends DType<any>, S extends Shape = [], A extends Access = "inout"> = Pointer<D[Dt], S, A>;
/** A descriptor, with its block's shape. */
export type DescriptorOf<D extends DType<any>, Block extends Shape, A extends Access = "in"> = Descriptor<
  D[Dt],
  Block,
  A
>;
