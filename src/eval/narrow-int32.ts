/**
 * Int32 of fewer than 32 bits. Its values are those of 32 bits that are sign-extended, so each result of an op drops its
 * high bits: sums, products and shifts are then those of the narrow type.
 */
import { type TileArray, tileArray } from "../numerics/array.js";
import type { NumberData } from "../numerics/numeric.js";
import { divide } from "../numerics/numeric-int.js";
import type { Op } from "../ir/op.js";
import type { Limits } from "../types/limits.js";
import { isTile } from "../values/operands.js";
import type { Runtime } from "../values/runtime-values.js";
import { type Lanes, lanesOf } from "./operand-lanes.js";

type Args = Readonly<Record<string, Runtime>>;
type Results = Runtime | readonly Runtime[];

/** Narrows the results of an op. */
export function narrowing({ facts }: Op, { int32Bits }: Limits): (args: Args, results: Results) => Results {
  if (int32Bits === 32) return (_, results) => results;
  const unused = 32 - int32Bits;
  const wrap = (value: number): number => (value << unused) >> unused;
  const narrow = (args: Args, value: Runtime): Runtime => {
    if (!isTile(value) || value.dtype !== "int32") return value;
    if (facts.integer !== "blocks") return withElements(value, (i) => wrap((value.data as NumberData)[i]!));
    // The sum in `(x + y - 1) // y` wraps as well.
    const [x, y] = [args["x"], args["y"]].map((operand) => lanesOf(operand, value.shape)) as [Lanes, Lanes];
    return withElements(value, (i) => wrap(divide(wrap(Number(x(i)) + Number(y(i)) - 1), Number(y(i)))));
  };
  return (args, results) =>
    Array.isArray(results) ? results.map((each: Runtime) => narrow(args, each)) : narrow(args, results as Runtime);
}

function withElements(value: TileArray, elementAt: (index: number) => number): TileArray {
  const data = Int32Array.from(value.data as NumberData, (_, i) => elementAt(i));
  return tileArray(value.dtype, value.shape, data, value.poison);
}
