/** Choosing between values, lane by lane. */
import { select } from "../ir/array-map.js";
import { cast } from "../ir/array-cast.js";
import type { Checked } from "../ir/problem.js";
import {
  inferPair,
  inferWhere,
  type PairOut,
  type WhereOut,
  type WhyCond,
  type WhyPairFirst,
  type WhyPairSecond,
  type WhyWhereFirst,
  type WhyWhereSecond,
} from "../ir/signatures-math.js";
import { sameElem } from "../ir/dtype.js";
import { tileType } from "../ir/types.js";
import { defineOp } from "./define.js";
import { binary, common, isTile, tileOf } from "./evaluate.js";

type Pair<Name extends string, Python extends string> = <const X, const Y>(
  x: Checked<X, WhyPairFirst<Name, X>>,
  y: Checked<Y, WhyPairSecond<Name, X, Y>>,
) => PairOut<Python, X, Y>;

function extremum<Name extends "minimum" | "maximum", Python extends "min" | "max">(
  name: Name,
  python: Python,
  first: (x: number | bigint, y: number | bigint) => boolean,
  nonNegative: (signs: readonly boolean[]) => boolean,
) {
  // NaN is ignored, as Triton's default does: the other operand wins.
  const float = (x: number, y: number) => (Number.isNaN(x) ? y : Number.isNaN(y) || first(x, y) ? x : y);
  return defineOp<Pair<Name, Python>>({
    name,
    operands: { x: "value", y: "value" },
    effect: "pure",
    spelling: { form: "call", name: `tl.${name}` },
    host: { form: "call", name: python },
    infer: ({ x, y }) => inferPair(name, x!.type, y!.type, python),
    fold: (x, y) => (first(Number(x), Number(y)) ? x : y),
    evaluate: binary({ float, int: (x, y) => (first(x, y) ? x : y), big: (x, y) => (first(x, y) ? x : y) }),
    nonNegative,
    strongLiterals36: true,
    // 3.6 widens bfloat16 to float32 here.
    result36: ({ x, y }) => {
      const result = inferPair(name, x!.type, y!.type, python);
      const isHalf = typeof result === "object" && result.kind === "tile" && mayBeBfloat16(result.dtype);
      return isHalf ? "float32" : undefined;
    },
  });
}

const mayBeBfloat16 = (dtype: string | { readonly members: readonly string[] }) =>
  typeof dtype === "string" ? dtype === "bfloat16" : dtype.members.includes("bfloat16");

/** The smaller of both; NaN gives way to a number: `tl.minimum(x, y)`. */
export const minimum = extremum(
  "minimum",
  "min",
  (x, y) => x < y,
  (signs) => signs.every(Boolean),
);
/** The larger of both; NaN gives way to a number: `tl.maximum(x, y)`. */
export const maximum = extremum(
  "maximum",
  "max",
  (x, y) => x > y,
  (signs) => signs.some(Boolean),
);

/** `x` where the condition holds, else `y`: `tl.where(mask, x, 0.0)`. Both sides are computed. */
export const where = defineOp<
  <const C, const X, const Y>(
    condition: Checked<C, WhyCond<"where", C>>,
    x: Checked<X, WhyWhereFirst<C, X>>,
    y: Checked<Y, WhyWhereSecond<C, X, Y>>,
  ) => WhereOut<C, X, Y>
>({
  name: "where",
  operands: { condition: "value", x: "value", y: "value" },
  effect: "pure",
  spelling: { form: "call", name: "tl.where" },
  infer: ({ condition, x, y }) => {
    const type = inferWhere(condition!.type, x!.type, y!.type);
    if (typeof type === "string" || type.kind !== "tile") return type;
    const sides = [x!.type, y!.type].flatMap((side) => (side.kind === "tile" ? [side.dtype] : []));
    return sides.every((dtype) => sameElem(dtype, type.dtype)) ? type : tileType(type.dtype, type.shape);
  },
  evaluate: ({ condition, x, y }) => {
    const [a, b, dtype] = common(x, y);
    const chosen = isTile(condition) ? condition : tileOf(condition, "int1");
    return select(chosen, cast(a, dtype), cast(b, dtype));
  },
  nonNegative: ([, x, y]) => x === true && y === true,
});
