/** Marks lanes whose value no device defines as poison. Poison is reported only if it is stored or used. */
import { undefinedCast } from "../diagnostics/catalog/finding-codes.js";
import type { Message } from "../diagnostics/message.js";
import type { FindingCode } from "../diagnostics/catalog/index.js";
import { either, full, type TileArray, tileArray } from "../numerics/array.js";
import { cast, type CastOptions, castableRange, outOfRange } from "../numerics/array-cast.js";
import { type FloatDType, isFloat } from "../numerics/numeric.js";
import type { DTypeName, IntName } from "../types/dtype.js";
import { isTile, tileOf } from "./operands.js";
import type { Context, Runtime } from "./runtime-values.js";

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
