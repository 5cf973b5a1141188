/** Compositions of other ops, each a function of the emitted Python. */
import { mulText } from "../types/constexpr-text.js";
import type { Validate } from "../types/rule-error.js";
import { type ArithOut, inferArith, type WhyArith } from "../rules/arithmetic-rules.js";
import { inferMath, inferPair, type Plain, type WhyMath, whyTile, type WhyTile } from "../rules/math-rules.js";
import type { El, Sh, Tile, TileLike } from "../types/tile.js";
import { literalType } from "../types/types.js";
import { derived } from "./derived.js";
import { sqrt } from "./math.js";
import { maximum } from "./select.js";

type WhyRelu<X> = X extends TileLike ? WhyArith<"relu", X[El], X[Sh], 0> : WhyTile<"relu", X>;
type WhySide<X> = X extends TileLike ? WhyMath<"hypot", X> : WhyTile<"hypot", X>;
type WhyOther<X, Y> = X extends TileLike
  ? WhySide<Y> extends ""
    ? WhyArith<"hypot", X[El], X[Sh], Y>
    : WhySide<Y>
  : WhySide<Y>;
type HypotOut<X, Y> = X extends TileLike ? ArithOut<X[El], X[Sh], Y> : Tile<any, any>;

declare module "../types/tile.js" {
  interface TileOps {
    /** The larger of x and 0; NaN stays NaN: `relu(x)`. */
    relu<T extends TileLike>(this: Validate<T, WhyRelu<T>>): Tile<T[El], T[Sh]>;
    /** Square root of the sum of two squares: `hypot(x, y)`. */
    hypot<T extends TileLike, const Y>(this: Validate<T, WhySide<T>>, y: Validate<Y, WhyOther<T, Y>>): HypotOut<T, Y>;
  }
}

/** The larger of x and 0; NaN stays NaN, as in PyTorch: `relu(x)`, which is `tl.maximum` with `propagate_nan`. */
export const relu = derived<<X>(x: Validate<X, WhyRelu<X>>) => Plain<X>>()({
  name: "relu",
  operands: { x: "tile" },
  method: true,
  infer: ({ x }) => whyTile("relu", x.type) || inferPair("relu", x.type, literalType(0), "max"),
  parts: (x) => maximum(x, 0, { propagateNan: "all" }),
});

/**
 * Square root of the sum of two squares: `hypot(x, y)`, which is `tl.sqrt(x * x + y * y)`. Where a square overflows the
 * result is infinite; `libdevice.hypot` scales first.
 */
export const hypot = derived<
  <X, const Y>(x: Validate<X, WhySide<X>>, y: Validate<Y, WhyOther<X, Y>>) => HypotOut<X, Y>
>()({
  name: "hypot",
  operands: { x: "tile", y: "tile" },
  method: true,
  infer: ({ x, y }) => {
    const sides = [x.type, y.type].map((side) => whyTile("hypot", side) || inferMath("hypot", side));
    return sides.find((side) => typeof side === "string") ?? inferArith("hypot", x.type, y.type, mulText);
  },
  parts: (x, y) => sqrt(x.mul(x).add(y.mul(y))),
});
