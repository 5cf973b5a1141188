/** `evaluate` of elementwise ops: casts operands to one dtype, then runs one loop for its kind of number. */
import { broadcastShapes, broadcastTo, full, reshape, tileArray, type TileArray } from "../numerics/array.js";
import { division } from "../diagnostics/catalog/finding-codes.js";
import { cast } from "../numerics/array-cast.js";
import { map1, map2, map3, mapBig1, mapBig2, mapBig3 } from "../numerics/array-map.js";
import type { DTypeName } from "../types/dtype.js";
import { bitsOf, type FloatDType, isBig, isFloat } from "../numerics/numeric.js";
import { promote } from "../types/promote.js";
import type { Addresses, Constant, Context, Runtime } from "./runtime-values.js";

type Args = Readonly<Record<string, Runtime | undefined>>;

/** The loops of an op, by the kind of its operands; undefined for kinds that the op does not take. */
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

/** The value as a tile; a constant takes `dtype`. */
export function tileOf(x: Runtime | undefined, dtype: DTypeName): TileArray {
  if (isTile(x)) return x;
  if (typeof x === "bigint" || typeof x === "number") return full([], isBig(dtype) ? BigInt(x) : Number(x), dtype);
  if (typeof x === "boolean") return full([], x ? 1 : 0, dtype);
  throw new TypeError("a tile is needed here");
}

/**
 * The dtype of a number combined with a tile: the tile's dtype if its kind (bool < integer < float) is at least the
 * number's, else int32 or float32 (`computation_type_impl` of Triton's semantic.py).
 */
function weakDType(constant: Runtime | undefined, tile: DTypeName): DTypeName {
  if (isFloat(tile) || (typeof constant !== "number" && typeof constant !== "bigint")) return tile;
  if (!Number.isInteger(Number(constant))) return "float32";
  return tile === "int1" ? "int32" : tile;
}

/** Both operands in their common dtype, and that dtype. */
export function promoteOperands(x: Runtime | undefined, y: Runtime | undefined): [TileArray, TileArray, DTypeName] {
  const a = isTile(x) ? (x.dtype as DTypeName) : undefined;
  const b = isTile(y) ? (y.dtype as DTypeName) : undefined;
  const dtype = a && b ? (promote(a, b) as DTypeName) : a ? weakDType(y, a) : b ? weakDType(x, b) : "int32";
  return [cast(tileOf(x, dtype), dtype), cast(tileOf(y, dtype), dtype), dtype];
}

/** `evaluate` of an elementwise op of `x` and `y` that computes in their common dtype. */
export function binary(loops: Loops) {
  return ({ x, y }: Args, context: Context): TileArray => {
    const [a, b, dtype] = promoteOperands(x, y);
    return runBinary(loops, a, b, dtype, context.results[0]!.dtype);
  };
}

/**
 * {@link binary} of bits, where one operand may decide a lane alone: 0 decides `&`, all bits together decide `|`. Such a
 * lane has a value, whatever the other operand has there.
 */
export function ofBits(loops: Loops, deciding: 0 | -1) {
  const compute = binary(loops);
  return (args: Args, context: Context): TileArray => {
    const made = compute(args, context);
    if (!made.poison) return made;
    const [a, b, dtype] = promoteOperands(args.x, args.y);
    const sides = [a, b].map((side) => broadcastTo(side, made.shape));
    const decides = (value: number | bigint): boolean =>
      BigInt.asIntN(bitsOf(dtype), BigInt(value)) === BigInt(deciding);
    const poison = made.poison.map((bit, i) =>
      bit && !sides.some((side) => !side.poison?.[i] && decides(side.data[i]!)) ? 1 : 0,
    );
    return tileArray(made.dtype, made.shape, made.data, poison.includes(1) ? poison : undefined);
  };
}

/** {@link binary}, computed in the dtype of the result. */
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

/**
 * {@link binary} for `//`, `%` and cdiv, which reports integer divisors that are not positive. Floats are divided in
 * the dtype of the result, so float16 and bfloat16 as float32.
 */
export function quotient(loops: Loops) {
  const [ofFloats, ofInts] = [binaryInResult(loops), binary(loops)];
  return (args: Args, context: Context): TileArray => {
    if (isFloat(context.results[0]!.dtype)) return ofFloats(args, context);
    const [dividend, divisor] = promoteOperands(args.x, args.y);
    reportDivisors(dividend, divisor, context);
    return ofInts(args, context);
  };
}

function reportDivisors(dividend: TileArray, divisor: TileArray, context: Context): void {
  const { data, poison } = divisor;
  if (!data.some((value, i) => value <= 0 && !poison?.[i])) return;
  const shape = broadcastShapes(dividend.shape, divisor.shape);
  const spread = broadcastTo(divisor, shape);
  const lanes = Uint8Array.from(spread.data as ArrayLike<number | bigint>, (value, i) =>
    value <= 0 && !spread.poison?.[i] ? 1 : 0,
  );
  context.report(division(spread.data[lanes.indexOf(1)]!), shape, lanes);
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

/** `evaluate` of an elementwise op of three operands, computed in the dtype of the result. */
export function ternary(
  names: readonly [string, string, string],
  loops: {
    readonly float: (dtype: FloatDType) => (x: number, y: number, z: number) => number;
    readonly int?: (x: number, y: number, z: number) => number;
    readonly big?: (x: bigint, y: bigint, z: bigint) => bigint;
  },
) {
  return (args: Args, context: Context): TileArray => {
    const { dtype } = context.results[0]!;
    const [x, y, z] = names.map((name) => cast(tileOf(args[name], dtype), dtype)) as [TileArray, TileArray, TileArray];
    if (isBig(dtype)) return mapBig3(x, y, z, dtype, need(loops.big, dtype));
    return map3(x, y, z, dtype, isFloat(dtype) ? loops.float(dtype) : need(loops.int, dtype));
  };
}

/** `nonNegative` of an op that only moves elements of its first operand. */
export const keepsSign = ([x]: readonly boolean[]): boolean => x === true;

/** `evaluate` of an op whose result has the operand's elements in the same order; the result's type gives the shape. */
export const toResult = ({ x }: Args, { results: [result] }: Context): TileArray =>
  reshape(tileOf(x, result!.dtype), result!.shape);

/** One value, or a list of them, as a list. */
export function listOf<T extends object | Constant>(given: T | readonly T[]): readonly T[] {
  return Array.isArray(given) ? (given as readonly T[]) : [given as T];
}
