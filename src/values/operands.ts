/** `evaluate` of elementwise ops: casts operands to one dtype, then runs one loop for its kind of number. */
import {
  broadcastShapes,
  broadcastTo,
  full,
  reshape,
  tileArray,
  type TileArray,
  either,
  cast,
  type CastOptions,
  castableRange,
  outOfRange,
} from "../numerics/array.js";
import { division, undefinedCast } from "../diagnostics/catalog/finding-codes.js";
import { map1, map2, map3, mapBig1, mapBig2, mapBig3 } from "../numerics/array-map.js";
import { type DTypeName, type IntName, isSigned } from "../types/dtype.js";
import { bitsOf, type FloatDType, isBig, isFloat } from "../numerics/numeric-int.js";
import { promote } from "../types/promote.js";
import type { Addresses, Constant, Context, Runtime } from "./runtime-values.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";

type Args = Readonly<Record<string, Runtime | undefined>>;

/** The loops of an op by the kind of its operands. Undefined for unsupported kinds. */
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

/** The value as a tile. A constant is converted to `dtype`. */
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

/** The dtype of two operands. `a` and `b` are the dtypes of `x` and `y` if they are tiles. */
function commonDType(
  a: DTypeName | undefined,
  b: DTypeName | undefined,
  x: Runtime | undefined,
  y: Runtime | undefined,
): DTypeName {
  if (a && b) return promote(a, b) as DTypeName;
  if (a) return weakDType(y, a);
  return b ? weakDType(x, b) : "int32";
}

/** Both operands in their common dtype, and that dtype. */
export function promoteOperands(x: Runtime | undefined, y: Runtime | undefined): [TileArray, TileArray, DTypeName] {
  const a = isTile(x) ? (x.dtype as DTypeName) : undefined;
  const b = isTile(y) ? (y.dtype as DTypeName) : undefined;
  const dtype = commonDType(a, b, x, y);
  return [cast(tileOf(x, dtype), dtype), cast(tileOf(y, dtype), dtype), dtype];
}

/** `evaluate` of an elementwise op of `x` and `y` that computes in their common dtype. */
export function binary(loops: Loops) {
  return ({ x, y }: Args, context: Context): TileArray => {
    const [a, b, dtype] = promoteOperands(x, y);
    return runBinary(loops, a, b, dtype, context.result.dtype);
  };
}

/**
 * {@link binary} for a bitwise op with an absorbing operand: 0 for `&`, all ones for `|`. A lane with that operand is
 * defined, even if the other operand is poison.
 */
export function bitwiseBinary(loops: Loops, deciding: 0 | -1) {
  const compute = binary(loops);
  return (args: Args, context: Context): TileArray => {
    const result = compute(args, context);
    if (!result.poison) return result;
    const [a, b, dtype] = promoteOperands(args.x, args.y);
    const operands = [a, b].map((side) => broadcastTo(side, result.shape));
    const isDeciding = (value: number | bigint): boolean =>
      BigInt.asIntN(bitsOf(dtype), BigInt(value)) === BigInt(deciding);
    const poison = result.poison.map((bit, i) =>
      bit && !operands.some((side) => !side.poison?.[i] && isDeciding(side.data[i]!)) ? 1 : 0,
    );
    return tileArray(result.dtype, result.shape, result.data, poison.includes(1) ? poison : undefined);
  };
}

/** {@link binary}, computed in the dtype of the result. */
export function binaryInResult(loops: Loops) {
  return ({ x, y }: Args, context: Context): TileArray => {
    const { dtype } = context.result;
    return runBinary(loops, cast(tileOf(x, dtype), dtype), cast(tileOf(y, dtype), dtype), dtype, dtype);
  };
}

function runBinary(loops: Loops, a: TileArray, b: TileArray, dtype: DTypeName, resultDType: DTypeName): TileArray {
  if (isBig(dtype)) return mapBig2(a, b, resultDType, requireLoop(loops.big, dtype));
  return map2(a, b, resultDType, requireLoop(isFloat(dtype) ? loops.float : loops.int, dtype));
}

/**
 * {@link binary} for `//`, `%` and cdiv, which reports divisors without a result. Floats are divided in the dtype of the
 * result, so float16 and bfloat16 as float32.
 */
export function quotient(loops: Loops, { roundsUp = false } = {}) {
  const [floatQuotient, intQuotient] = [binaryInResult(loops), binary(loops)];
  return (args: Args, context: Context): TileArray => {
    if (isFloat(context.result.dtype)) return floatQuotient(args, context);
    const [dividend, divisor, dtype] = promoteOperands(args.x, args.y);
    reportDivisors(dividend, divisor, roundsUp ? isNotPositive : hasNoQuotient(dtype as IntName), context);
    return intQuotient(args, context);
  };
}

type Integer = number | bigint;
type IsBadDivisor = (divisor: Integer, dividend: Integer) => boolean;

/** A finding of cdiv: its sum rounds up for positive divisors only. */
const isNotPositive: IsBadDivisor = (divisor) => divisor <= 0;

/** A finding of `//` and `%`: GPUs differ for a divisor of 0, and for a quotient of two that the dtype does not hold. */
function hasNoQuotient(dtype: IntName): IsBadDivisor {
  const minimum = isSigned(dtype) ? -(2 ** (bitsOf(dtype) - 1)) : undefined;
  return (divisor, dividend) => Number(divisor) === 0 || (Number(divisor) === -1 && Number(dividend) === minimum);
}

function reportDivisors(dividend: TileArray, divisor: TileArray, isBad: IsBadDivisor, context: Context): void {
  if (!divisor.data.some((value: Integer) => value <= 0)) return;
  const shape = broadcastShapes(dividend.shape, divisor.shape);
  const [dividends, divisors] = [dividend, divisor].map((side) => broadcastTo(side, shape)) as [TileArray, TileArray];
  const lanes = Uint8Array.from(divisors.data as ArrayLike<Integer>, (value, i) =>
    !divisors.poison?.[i] && isBad(value, dividends.data[i]!) ? 1 : 0,
  );
  const first = lanes.indexOf(1);
  if (first >= 0) context.report(division(divisors.data[first]!, dividends.data[first]!), shape, lanes);
}

/** `evaluate` of an elementwise op of `x`. */
export function unary(loops: {
  readonly float?: (x: number) => number;
  readonly int?: (x: number) => number;
  readonly big?: (x: bigint) => bigint;
}) {
  return ({ x }: Args, context: Context): TileArray => {
    const { dtype } = context.result;
    const tile = tileOf(x, dtype);
    const operandDType = tile.dtype as DTypeName;
    if (isBig(operandDType)) return mapBig1(tile, dtype, requireLoop(loops.big, operandDType));
    return map1(tile, dtype, requireLoop(isFloat(operandDType) ? loops.float : loops.int, operandDType));
  };
}

function requireLoop<F>(loop: F | undefined, dtype: DTypeName): F {
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
    const { dtype } = context.result;
    const [x, y, z] = names.map((name) => cast(tileOf(args[name], dtype), dtype)) as [TileArray, TileArray, TileArray];
    if (isBig(dtype)) return mapBig3(x, y, z, dtype, requireLoop(loops.big, dtype));
    return map3(x, y, z, dtype, isFloat(dtype) ? loops.float(dtype) : requireLoop(loops.int, dtype));
  };
}

/** `nonNegative` of an op that only moves elements of its first operand. */
export const isFirstNonNegative = ([x]: readonly boolean[]): boolean => x === true;

/** `evaluate` of an op that only changes the shape, which the result's type determines. */
export const toResult = ({ x }: Args, { result }: Context): TileArray => reshape(tileOf(x, result.dtype), result.shape);

export function listOf<T extends object | Constant>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}

// Marks lanes whose value no device defines as poison. Poison is reported only if it is stored or used.

/** Marks lanes of a result as poison. `describe` gets the first of them. */
export function markPoison(
  tile: TileArray,
  lanes: Uint8Array | undefined,
  context: Context,
  describe: (lane: number) => Message<FindingCode>,
): TileArray {
  if (!lanes) return tile;
  context.undefine(describe(lanes.indexOf(1)));
  return tileArray(tile.dtype, tile.shape, tile.data, either(tile.poison, lanes));
}

/** {@link cast} as an op performs it: a float out of range of an integer or an 8-bit float becomes poison. */
export function castIn(context: Context, x: Runtime, dtype: DTypeName, options: CastOptions = {}): TileArray {
  const result = cast(tileOf(x, dtype), dtype, options);
  if (options.bitcast) return result;
  const floats = floatsOf(x);
  if (!floats) return result;
  return markPoison(result, outOfRange(floats, dtype, options), context, (lane) => {
    const [low, high] = castableRange(floats.dtype as "float32", dtype as IntName | FloatDType);
    return undefinedCast(floats.data[lane]!, dtype, [String(low), String(high)]);
  });
}

/** The float operand of a cast. A constexpr with a fraction is a float32. */
function floatsOf(x: Runtime): TileArray | undefined {
  if (isTile(x)) return isFloat(x.dtype) ? x : undefined;
  return typeof x === "number" && !Number.isInteger(x) ? full([], x, "float32") : undefined;
}
