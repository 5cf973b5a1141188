/** `tl.softmax`. */
import { broadcastTo, expandDims, type TileArray } from "../numerics/array.js";
import { map1, map2 } from "../numerics/array-map.js";
import { reduce } from "../numerics/array-reduce.js";
import { LOWEST, NAN, POSITIVE, ZERO } from "../symbolic/number-class.js";
import { axisOf, checkedAxis, type WhyAxis } from "../types/axis.js";
import type { DTypeName } from "../types/dtype.js";
import type { Validate } from "../types/rule-error.js";
import type { Plain } from "../rules/math-rules.js";
import { axisNumber, inferScan, reduceRules, type WhyNormalize } from "../rules/reduce-rules.js";
import type { Sh, TileLike } from "../types/tile.js";
import { defineOp } from "./define.js";

type WhySoftmaxAxis<X, Ax> = X extends TileLike ? WhyAxis<"softmax", X[Sh], Ax> : "";
interface SoftmaxOptions {
  /** Rounds the division correctly. */
  ieeeRounding?: boolean;
}

declare module "../types/tile.js" {
  interface TileOps {
    /** `exp(x)` divided by its sum along an axis, by default the first: `tl.softmax(x, 0)`. */
    softmax<T extends TileLike, const Ax = 0>(
      this: Validate<T, WhyNormalize<"softmax", T>>,
      dim?: Validate<Ax, WhySoftmaxAxis<T, Ax>>,
      options?: SoftmaxOptions,
    ): Plain<T>;
  }
}

/**
 * `exp(x)` divided by its sum along an axis, by default the first: `tl.softmax(x, 0)`. Any other axis needs Triton 3.9.
 */
export const softmax = defineOp<
  <X, const Ax = 0>(
    x: Validate<X, WhyNormalize<"softmax", X>>,
    dim?: Validate<Ax, WhySoftmaxAxis<X, Ax>>,
    options?: SoftmaxOptions,
  ) => Plain<X>
>()({
  name: "softmax",
  operands: { x: "tile", dim: "constant?" },
  options: { ieeeRounding: "constant?" },
  method: true,
  effect: "pure",
  spelling: { form: "call", name: "tl.softmax" },
  infer: ({ x, dim }) => inferScan(reduceRules.normalizing, "softmax", x.type, axisNumber(dim) ?? 0),
  evaluate: ({ x, dim = 0 }) => {
    const tile = x;
    const dtype = tile.dtype as DTypeName;
    const axis = checkedAxis(tile.shape.length, Number(dim));
    const foldAndBroadcast = (fold: (a: number, b: number) => number, source: TileArray) =>
      broadcastTo(expandDims(reduce(source, axis, fold), axis), tile.shape);
    const shifted = map2(tile, foldAndBroadcast(Math.max, tile), dtype, (a, b) => a - b);
    const powers = map1(shifted, dtype, Math.exp);
    return map2(
      powers,
      foldAndBroadcast((a, b) => a + b, powers),
      dtype,
      (a, b) => a / b,
    );
  },
  facts: { nonNegative: () => true },
  proof: {
    foldSemantics: {
      form: "normalization",
      combineClasses: (x) => {
        if (x === LOWEST) return ZERO;
        return x === NAN ? NAN : POSITIVE;
      },
    },
    isNeutral: (classes) => classes === LOWEST,
  },
  needs: {
    needsTriton39: ({ x, dim }) => {
      const rank = x.type.kind === "tile" ? x.type.shape.length : 1;
      return rank > 1 && axisOf(rank, Number(dim?.literal ?? 0)) !== 0;
    },
  },
});
