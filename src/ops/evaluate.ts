/** How ops compute whole tiles: operands brought to one dtype, then one loop for the kind of number it holds. */
import { type TileArray, full } from "../ir/array.js";
import { cast } from "../ir/array-cast.js";
import { map1, map2, mapBig1, mapBig2 } from "../ir/array-map.js";
import type { DTypeName } from "../ir/dtype.js";
import { isBig, isFloat } from "../ir/numeric.js";
import { promote } from "../ir/promote.js";
import type { Addresses, Context, Runtime } from "../ir/runtime.js";

type Args = Readonly<Record<string, Runtime | undefined>>;

/** The loops of an op, by what the operands hold; absent where the op has no meaning. */
export interface Loops {
  readonly float?: (x: number, y: number) => number | boolean;
  readonly int?: (x: number, y: number) => number | boolean;
  readonly big?: (x: bigint, y: bigint) => bigint | boolean;
}

export function isTile(x: Runtime | undefined): x is TileArray {
  return typeof x === "object" && "data" in x;
}

export function isAddresses(x: Runtime | undefined): x is Addresses {
  return typeof x === "object" && "kind" in x && x.kind === "addresses";
}

/** The tile that a value is, a constant taking the dtype given. */
export function tileOf(x: Runtime | undefined, dtype: DTypeName): TileArray {
  if (isTile(x)) return x;
  if (typeof x === "bigint" || typeof x === "number") return full([], isBig(dtype) ? BigInt(x) : Number(x), dtype);
  if (typeof x === "boolean") return full([], x ? 1 : 0, dtype);
  throw new TypeError("a tile is needed here");
}

/** Both operands in the dtype that they have together. A constant takes the tile's. */
export function common(x: Runtime | undefined, y: Runtime | undefined): [TileArray, TileArray, DTypeName] {
  const a = isTile(x) ? (x.dtype as DTypeName) : undefined;
  const b = isTile(y) ? (y.dtype as DTypeName) : undefined;
  const dtype = a && b ? (promote(a, b) as DTypeName) : (a ?? b ?? "int32");
  return [cast(tileOf(x, dtype), dtype), cast(tileOf(y, dtype), dtype), dtype];
}

/** `evaluate` of an elementwise op of `x` and `y` that computes in their common dtype. */
export function binary(loops: Loops) {
  return ({ x, y }: Args, context: Context): TileArray => {
    const [a, b, dtype] = common(x, y);
    return runBinary(loops, a, b, dtype, context.results[0]!.dtype);
  };
}

/** The same, computed in the dtype of the result. */
export function binaryInResult(loops: Loops) {
  return ({ x, y }: Args, context: Context): TileArray => {
    const { dtype } = context.results[0]!;
    return runBinary(loops, cast(tileOf(x, dtype), dtype), cast(tileOf(y, dtype), dtype), dtype, dtype);
  };
}

function runBinary(loops: Loops, a: TileArray, b: TileArray, dtype: DTypeName, out: DTypeName): TileArray {
  if (isBig(dtype)) return mapBig2(a, b, out, need(loops.big, dtype));
  return map2(a, b, out, need(isFloat(dtype) ? loops.float : loops.int, dtype));
}

/** `evaluate` of an elementwise op of `x`. */
export function unary(loops: {
  readonly float?: (x: number) => number;
  readonly int?: (x: number) => number;
  readonly big?: (x: bigint) => bigint;
}) {
  return ({ x }: Args, context: Context): TileArray => {
    const { dtype } = context.results[0]!;
    const tile = tileOf(x, dtype);
    const held = tile.dtype as DTypeName;
    if (isBig(held)) return mapBig1(tile, dtype, need(loops.big, held));
    return map1(tile, dtype, need(isFloat(held) ? loops.float : loops.int, held));
  };
}

function need<F>(loop: F | undefined, dtype: DTypeName): F {
  if (!loop) throw new TypeError(`no loop for ${dtype}`);
  return loop;
}
