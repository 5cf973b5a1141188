/**
 * Elementwise functions of tiles. Operands broadcast, and results are rounded or wrapped to the result's dtype. A lane
 * is poison if it is poison in any operand.
 *
 * The `Big` variants take int64 and uint64 operands, so the loops over numbers never see a bigint.
 */
import { bigsOf, broadcastShapes, broadcastTo, numbersOf, sizeOf, tileArray, type TileArray } from "./array.js";
import { roundAll, round, float64Bits } from "./numeric-float.js";
import {
  wrap,
  wrapBig,
  bitsOf,
  isBig,
  isFloat,
  type BigData,
  type NumberData,
  type NumericDType,
} from "./numeric-int.js";
import { allocateUninitialized, zeros, allocateUnset, kindOf, loopsOf, copyView } from "./buffer-pool.js";
import { toBits } from "./numeric-bits.js";

/** Comparisons may return booleans for a result of `int1`. */
type NumberResult = number | boolean;
type BigResult = bigint | number | boolean;

/** A function of one tile. */
export function map1(x: TileArray, dtype: NumericDType, f: (x: number) => NumberResult): TileArray {
  const raw = allocateRaw(dtype, x.data.length);
  loop1(f)(raw, numbersOf(x));
  return tileArray(dtype, x.shape, roundOrWrap(dtype, raw), x.poison);
}

/** A function of two tiles. */
export function map2(
  x: TileArray,
  y: TileArray,
  dtype: NumericDType,
  f: (x: number, y: number) => NumberResult,
): TileArray {
  const shape = broadcastShapes(x.shape, y.shape);
  const [a, b] = [operand(x, shape), operand(y, shape)];
  const raw = allocateRaw(dtype, sizeOf(shape));
  loop2(f)(raw, numbersOf(a), numbersOf(b));
  return tileArray(dtype, shape, roundOrWrap(dtype, raw), poisonOf(shape, [a, b]));
}

/** A function of three tiles. */
export function map3(
  x: TileArray,
  y: TileArray,
  z: TileArray,
  dtype: NumericDType,
  f: (x: number, y: number, z: number) => NumberResult,
): TileArray {
  const shape = broadcastShapes(broadcastShapes(x.shape, y.shape), z.shape);
  const [a, b, c] = [operand(x, shape), operand(y, shape), operand(z, shape)];
  const raw = allocateRaw(dtype, sizeOf(shape));
  loop3(f)(raw, numbersOf(a), numbersOf(b), numbersOf(c));
  return tileArray(dtype, shape, roundOrWrap(dtype, raw), poisonOf(shape, [a, b, c]));
}

/** {@link map1} of an int64 or uint64 tile. */
export function mapBig1(x: TileArray, dtype: NumericDType, f: (x: bigint) => BigResult): TileArray {
  return mapBig2(x, x, dtype, f);
}

/** {@link map2} of int64 or uint64 tiles. */
export function mapBig2(
  x: TileArray,
  y: TileArray,
  dtype: NumericDType,
  f: (x: bigint, y: bigint) => BigResult,
): TileArray {
  return mapBig3(x, y, y, dtype, f);
}

/** {@link map3} of int64 or uint64 tiles. */
export function mapBig3(
  x: TileArray,
  y: TileArray,
  z: TileArray,
  dtype: NumericDType,
  f: (x: bigint, y: bigint, z: bigint) => BigResult,
): TileArray {
  const shape = broadcastShapes(broadcastShapes(x.shape, y.shape), z.shape);
  const tiles = [operand(x, shape), operand(y, shape), operand(z, shape)] as const;
  const poison = poisonOf(shape, tiles);
  // Storing into a 64-bit array wraps.
  const raw = isBig(dtype) ? (allocateUnset(dtype, sizeOf(shape)) as BigData) : allocateRaw(dtype, sizeOf(shape));
  loopBig(f)(raw as BigData, bigsOf(tiles[0]), bigsOf(tiles[1]), bigsOf(tiles[2]));
  return tileArray(dtype, shape, isBig(dtype) ? raw : roundOrWrap(dtype, raw as NumberData), poison);
}

/** `where(condition, x, y)`. Only the selected operand can poison a lane. `x` and `y` have the same dtype. */
export function select(condition: TileArray, x: TileArray, y: TileArray): TileArray {
  const shape = broadcastShapes(broadcastShapes(condition.shape, x.shape), y.shape);
  const size = sizeOf(shape);
  const [c, a, b] = [broadcastTo(condition, shape), operand(x, shape), operand(y, shape)];
  const isChosen = c.data as Uint8Array;
  const data = allocateUnset(x.dtype, size);
  const target = copyView(data);
  selectLoop(kindOf(target))(target, isChosen, copyView(a.data), copyView(b.data));
  if (!c.poison && !a.poison && !b.poison) return tileArray(x.dtype, shape, data);
  const poison = allocateUninitialized(Uint8Array, size);
  for (let i = 0; i < size; i++) {
    const selected = isChosen[i] ? a : b;
    poison[i] = (c.poison?.[i] ?? 0) | (selected.poison?.[selected.data.length === 1 ? 0 : i] ?? 0);
  }
  return tileArray(x.dtype, shape, data, poison);
}

const selectLoop = loopsOf(() => (out: NumberData, isChosen: Uint8Array, x: NumberData, y: NumberData): void => {
  const dx = x.length === 1 ? 0 : 1;
  const dy = y.length === 1 ? 0 : 1;
  for (let i = 0; i < out.length; i++) out[i] = isChosen[i] ? x[i * dx]! : y[i * dy]!;
});

/** The array for results before rounding or wrapping: float64 for floats other than float32. */
function allocateRaw(dtype: NumericDType, length: number): NumberData {
  if (isBig(dtype)) throw new TypeError(`${dtype} elements are bigints`);
  if (isFloat(dtype) && dtype !== "float32") return allocateUninitialized(Float64Array, length);
  return allocateUnset(dtype, length) as NumberData;
}

/** Rounds or wraps raw results, unless storing already did. */
function roundOrWrap(dtype: NumericDType, raw: NumberData): NumberData {
  if (isFloat(dtype)) {
    return dtype === "float32" || dtype === "float64" ? raw : roundAll(dtype, raw as Float64Array);
  }
  if (isBig(dtype) || bitsOf(dtype) === 32) return raw;
  loop1(wrap(dtype))(raw, raw);
  return raw;
}

/** Broadcasts an operand. A single element is not copied; the loops read it repeatedly. */
function operand(x: TileArray, shape: readonly number[]): TileArray {
  return x.data.length === 1 ? x : broadcastTo(x, shape);
}

const loop1 = loopsOf((f: (x: number) => NumberResult) => (out: NumberData, x: NumberData) => {
  for (let i = 0; i < out.length; i++) out[i] = f(x[i]!) as number;
});

const loop2 = loopsOf(
  (f: (x: number, y: number) => NumberResult) => (out: NumberData, x: NumberData, y: NumberData) => {
    const dx = x.length === 1 ? 0 : 1;
    const dy = y.length === 1 ? 0 : 1;
    for (let i = 0; i < out.length; i++) out[i] = f(x[i * dx]!, y[i * dy]!) as number;
  },
);

const loop3 = loopsOf(
  (f: (x: number, y: number, z: number) => NumberResult) =>
    (out: NumberData, x: NumberData, y: NumberData, z: NumberData) => {
      const dx = x.length === 1 ? 0 : 1;
      const dy = y.length === 1 ? 0 : 1;
      const dz = z.length === 1 ? 0 : 1;
      for (let i = 0; i < out.length; i++) out[i] = f(x[i * dx]!, y[i * dy]!, z[i * dz]!) as number;
    },
);

const loopBig = loopsOf(
  (f: (x: bigint, y: bigint, z: bigint) => BigResult) => (out: BigData, x: BigData, y: BigData, z: BigData) => {
    const dx = x.length === 1 ? 0 : 1;
    const dy = y.length === 1 ? 0 : 1;
    const dz = z.length === 1 ? 0 : 1;
    for (let i = 0; i < out.length; i++) out[i] = f(x[i * dx]!, y[i * dy]!, z[i * dz]!) as bigint;
  },
);

const isPoisoned = ({ poison }: TileArray): boolean => poison !== undefined;

function poisonOf(shape: readonly number[], tiles: readonly TileArray[]): Uint8Array | undefined {
  if (!tiles.some(isPoisoned)) return undefined;
  const poisons = tiles.flatMap((tile) => tile.poison ?? []);
  const out = zeros(Uint8Array, sizeOf(shape));
  for (const poison of poisons) {
    const d = poison.length === 1 ? 0 : 1;
    for (let i = 0; i < out.length; i++) if (poison[i * d]) out[i] = 1;
  }
  return out;
}

// The combine functions of atomics, exactly as Triton compiles them.

type Scalar = number | bigint;
type Combine = (old: Scalar, value: Scalar) => Scalar;
/** The combine function for elements of a dtype. */
export type Change = (dtype: NumericDType) => Combine;

const combineBigs =
  (f: (x: bigint, y: bigint) => bigint): Combine =>
  (x, y) =>
    f(x as bigint, y as bigint);
const combineNumbers =
  (f: (x: number, y: number) => number): Combine =>
  (x, y) =>
    f(x as number, y as number);

export const sum: Change = (dtype) => {
  if (isBig(dtype)) {
    const toDType = wrapBig(dtype);
    return combineBigs((x, y) => toDType(x + y));
  }
  const toDType = isFloat(dtype) ? round(dtype) : wrap(dtype);
  return combineNumbers((x, y) => toDType(x + y));
};

export const exchange: Change = () => (_, value) => value;

export const bitwise =
  (operator: "and" | "or" | "xor"): Change =>
  (dtype) => {
    if (isBig(dtype)) {
      const toDType = wrapBig(dtype);
      const f = {
        and: (x: bigint, y: bigint) => x & y,
        or: (x: bigint, y: bigint) => x | y,
        xor: (x: bigint, y: bigint) => x ^ y,
      };
      return combineBigs((x, y) => toDType(f[operator](x, y)));
    }
    const toDType = wrap(dtype as Parameters<typeof wrap>[0]);
    const f = {
      and: (x: number, y: number) => x & y,
      or: (x: number, y: number) => x | y,
      xor: (x: number, y: number) => x ^ y,
    };
    return combineNumbers((x, y) => toDType(f[operator](x, y)));
  };

/**
 * Compares floats by their bits: as signed integers if the operand's sign bit is clear, else as unsigned integers in
 * reverse order. Therefore -0 is less than 0, and a NaN is beyond the infinity of its sign.
 */
const extremum =
  (isGreatest: boolean): Change =>
  (dtype) => {
    if (!isFloat(dtype)) return (x, y) => (isGreatest === y > x ? y : x);
    const bits = floatBits(dtype);
    return combineNumbers((x, y) => {
      const [old, value] = [bits(x), bits(y)];
      const isNegative = value < 0n;
      const unsigned = (b: bigint): bigint => (isNegative ? BigInt.asUintN(64, b) : b);
      const isGreater = unsigned(value) > unsigned(old);
      return (isGreatest !== isNegative) === isGreater ? y : x;
    });
  };
export const greatest: Change = extremum(true);
export const least: Change = extremum(false);

/** The bits of a float as a signed integer. */
function floatBits(dtype: NumericDType): (x: number) => bigint {
  if (dtype === "float64") return float64Bits;
  const encode = toBits(dtype as Parameters<typeof toBits>[0]);
  return (x) => BigInt(encode(x) | 0);
}
