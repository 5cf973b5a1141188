/** What is asked of tiles while a random kernel is built: their types, and bringing one to the type that is wanted. */
import { tl } from "tilescript";
import { type DTypeName, isFp8, isInt, isSigned } from "../../../src/types/dtype.js";
import { isHandle, valueOf } from "../../../src/ir/handle.js";
import { broadcast, type Dim } from "../../../src/types/shape.js";
import { constexprValue } from "../../../src/types/constexpr-text.js";
import type { TileType } from "../../../src/types/types.js";

/** A tile, or anything else that an author holds while a kernel is traced. The recipe, not the compiler, knows its type. */
export type Tile = any;
export const BLOCK = 16;

export const typeOf = (x: Tile): TileType => valueOf(x).type as TileType;
export const dtypeOf = (x: Tile): DTypeName => typeOf(x).dtype as DTypeName;
export const isTile = (x: unknown): boolean => isHandle(x) && valueOf(x).type.kind === "tile";
export const isFloating = (x: Tile): boolean => !isInt(dtypeOf(x));

/** Lengths of the axes, with the constexpr's value in its place. */
export const lengthsOf = (x: Tile): number[] => typeOf(x).shape.map((dim) => lengthOf(dim));
const lengthOf = (dim: Dim): number => (typeof dim === "number" ? dim : constexprValue(dim, { BLOCK }));
export const sizeOf = (x: Tile): number => lengthsOf(x).reduce((size, length) => size * length, 1);

/** A shape as `tl.reshape` and its kin take it, and as types spell it. */
export interface Shape {
  readonly dims: readonly Dim[];
  readonly values: readonly unknown[];
}
export const shapeOf = (x: Tile): Shape => ({ dims: typeOf(x).shape, values: x.shape });
export const numbers = (...dims: readonly number[]): Shape => ({ dims, values: dims });

/** Whether two tiles broadcast to one shape. */
export const areCompatible = (x: Tile, y: Tile): boolean => broadcast(typeOf(x).shape, typeOf(y).shape) !== undefined;

/** The tile in a dtype. Casts whose result no rule gives (floats that no integer holds) are kept from happening. */
export function cast(x: Tile, dtype: DTypeName): Tile {
  const from = dtypeOf(x);
  if (from === dtype) return x;
  if (isFp8(from) && dtype !== "float32") return cast(x.to(tl.float32), dtype);
  if (isFp8(dtype)) {
    if (from !== "float32") return cast(cast(x, "float32"), dtype);
    return between(x, -200, 200).to(tl[dtype]);
  }
  if (dtype === "int1") return x.ne(0);
  if (isInt(dtype) && !isInt(from)) return between(x, isSigned(dtype) ? -100 : 0, 100).to(tl[dtype]);
  return x.to(tl[dtype]);
}

/** Elements outside a range become one inside it; so does NaN. */
export function between(x: Tile, low: number, high: number): Tile {
  const dtype = dtypeOf(x);
  if (dtype === "int1") return x;
  if (isInt(dtype)) return tl.minimum(tl.maximum(x, low as never), high as never);
  return tl.where(x.ge(low).and(x.le(high)), x, ((low + high) / 2) as never);
}

/** Without NaN, whose place in an order and whose bits no rule gives, and with one zero. */
export function ordered(x: Tile): Tile {
  return isFloating(x) && !isFp8(dtypeOf(x)) ? (tl.where(x.eq(x), x, 1) as Tile).add(0) : x;
}

/** The tile in a shape: as it is, spread, its elements in another arrangement, or its greatest spread. */
export function shaped(x: Tile, shape: Shape): Tile {
  const own = typeOf(x).shape;
  if (own.join() === shape.dims.join()) return x;
  const fits = own.length <= shape.dims.length && broadcast(own, shape.dims)?.join() === shape.dims.join();
  if (fits && own.length === shape.dims.length) return tl.broadcastTo(x, shape.values as never);
  if (fits && own.length === 0) return tl.broadcastTo(x, shape.values as never);
  if (fits) return shaped(tl.expandDims(x, 0 as never), shape);
  const isPlain = [...own, ...shape.dims].every((dim) => typeof dim === "number");
  if (isPlain && sizeOf(x) === shape.dims.reduce<number>((size, dim) => size * lengthOf(dim), 1))
    return tl.reshape(x, shape.values as never);
  return shaped(scalarOf(x), shape);
}

/** One number for a tile: its greatest element. */
export function scalarOf(x: Tile): Tile {
  if (typeOf(x).shape.length === 0) return x;
  const dtype = dtypeOf(x);
  const wide = dtype === "int1" ? x.to(tl.int32) : isFp8(dtype) ? x.to(tl.float32) : ordered(x);
  return tl.max(wide);
}

/** The tile in the dtype and shape of another. */
export const like = (x: Tile, other: Tile): Tile => cast(shaped(x, shapeOf(other)), dtypeOf(other));
